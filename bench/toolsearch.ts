// Recall of the tool search on public sets. Usage:
//   node bench/toolsearch.ts <folder> [--steps]
// <folder> holds one folder a set with tools.jsonl ({ id, server, name, description, schema? }) and queries.jsonl
// ({ query, relevant, any_of?, steps? }). --steps asks one question per annotated sub-step, merged round-robin.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSearchIndex } from '../src/catalog/search/search-index.ts'

interface ToolRow {
  readonly id: string
  readonly server?: string
  readonly name: string
  readonly description?: string
  readonly schema?: {
    readonly properties?: Readonly<Record<string, { readonly description?: string }>>
  }
}
interface QueryRow {
  readonly query: string
  readonly relevant: readonly string[]
  readonly any_of?: readonly (readonly string[])[]
  readonly steps?: readonly string[]
}

const folder = process.argv.slice(2).find((argument) => !argument.startsWith('--'))
const bySteps = process.argv.includes('--steps')
if (folder === undefined) {
  console.error('Usage: node bench/toolsearch.ts <folder with one folder a set> [--steps]')
  process.exit(2)
}

const readLines = <T>(file: string): T[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
const cell = (value: number, digits = 1): string => value.toFixed(digits).padStart(8)

console.log(
  `${'set'.padEnd(12)}${['N', 'queries', 'R@1', 'R@5', 'R@10', 'MRR', 'nDCG@10', 'build ms', 'ms/query', 'p95 ms'].map((name) => name.padStart(9)).join('')}`,
)
for (const set of readdirSync(folder).toSorted()) {
  const queriesFile = join(folder, set, 'queries.jsonl')
  if (!existsSync(queriesFile)) continue
  const tools = readLines<ToolRow>(join(folder, set, 'tools.jsonl'))
  const queries = readLines<QueryRow>(queriesFile)
  const startedAt = performance.now()
  const index = createSearchIndex(
    tools.map(({ id, name, server = '', description = '', schema }) => ({
      id,
      name,
      owner: server,
      description,
      parameters: Object.entries(schema?.properties ?? {})
        .map(([parameter, about]) => `${parameter} ${about?.description ?? ''}`)
        .join(' '),
    })),
  )
  const buildMs = performance.now() - startedAt
  const times: number[] = []
  const sums = { r1: 0, r5: 0, r10: 0, mrr: 0, ndcg: 0 }
  for (const { query, relevant, any_of: anyOf, steps } of queries) {
    const from = performance.now()
    const ranked = index.search(bySteps && steps?.length ? steps : [query], 20).map(({ id }) => id)
    times.push(performance.now() - from)
    const groups = anyOf ?? relevant.map((id) => [id])
    const firsts = groups.map((group) => {
      const ranks = group.map((id) => ranked.indexOf(id)).filter((rank) => rank >= 0)
      return Math.min(Infinity, ...ranks)
    })
    const recall = (k: number): number => firsts.filter((rank) => rank < k).length / groups.length
    sums.r1 += recall(1)
    sums.r5 += recall(5)
    sums.r10 += recall(10)
    sums.mrr += 1 / (Math.min(...firsts) + 1)
    const gain = (ranks: readonly number[]): number =>
      ranks.reduce((sum, rank) => sum + 1 / Math.log2(rank + 2), 0)
    sums.ndcg +=
      gain(firsts.filter((rank) => rank < 10)) / gain(groups.slice(0, 10).map((_, rank) => rank))
  }
  const share = (sum: number): number => (100 * sum) / queries.length
  const sorted = times.toSorted((a, z) => a - z)
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? 0
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length
  const cells = [
    cell(tools.length, 0),
    cell(queries.length, 0),
    ...Object.values(sums).map((sum) => cell(share(sum))),
    cell(buildMs, 0),
    cell(mean, 2),
    cell(p95, 2),
  ]
  console.log(`${set.padEnd(12)} ${cells.join(' ')}`)
}
