// Recall of the tool search, by the product's own index, beside plain FTS5 and what others published. Usage:
//   npm run bench:search [-- --data <folder>] [--json] [--workerd]
// <folder> holds tools.jsonl and queries.jsonl, or one such folder a set (data.ts has the format); without --data it is
// the small sample beside this file. A set without queries only makes the others larger (`large`). With --workerd the
// time of a search in the largest index is taken in workerd too.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createRankedIndex } from '../../src/runtime/catalog/search/search-index.ts'
import { shippedRanking } from '../../src/runtime/catalog/search/read-document.ts'
import { loadSets, toDocument, type QueryRow, type SearchSet, type ToolRow } from './data.ts'
import { foldsOf, settingsTried } from './folds.ts'
import { createPlainFts, createWeightedFts } from './plain-fts.ts'
import { timeInWorkerd } from './workerd.ts'
import { depth, meanOf, measures, scoreOf, type Scores } from './scores.ts'

const published = [
  'BM25, untuned, SkillRet (2605.05726): recall@10 56.6; best embedding off the shelf 64.9, trained 85.4',
  'BM25, 4,027 tools, 25 plain requests (Arcade, Dec 2025): right tool found 64',
  'BM25, 2,700 queries (StackOne via MCPProxy, Mar 2026): top-1 14, top-5 87; embeddings 38 / 85',
]

interface Line {
  readonly set: string
  readonly variant: string
  readonly tools: number
  readonly queries: number
  readonly scores: Scores
  readonly p50Ms?: number
  readonly p95Ms?: number
  readonly rowsP50?: number
  readonly rowsP95?: number
}

const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    json: { type: 'boolean', default: false },
    workerd: { type: 'boolean', default: false },
  },
})
const sets = loadSets(options.data ?? join(import.meta.dirname, 'sample'))
const distractors = sets.filter(({ queries }) => queries.length === 0).flatMap((one) => one.tools)
const lines = sets
  .filter(({ queries }) => queries.length > 0)
  .flatMap((set) => [
    ...linesOf(set),
    ...(distractors.length > 0 ? [largeLine(set, distractors)] : []),
  ])
if (options.workerd) {
  const largest = sets
    .filter(({ queries }) => queries.length > 0)
    .toSorted(
      (one, other) =>
        other.tools.length * other.queries.length - one.tools.length * one.queries.length,
    )
  lines.push(
    ...(await Promise.all(
      largest.slice(0, 1).map((set) => workerdLine(withMore(set, distractors))),
    )),
  )
}
if (options.json) console.log(JSON.stringify({ lines, published }, undefined, 2))
else print(lines)

function linesOf(set: SearchSet): readonly Line[] {
  const { name, tools, queries } = set
  const score = (variant: string, rank: (query: QueryRow) => readonly string[]): Line => ({
    set: name,
    variant,
    tools: tools.length,
    queries: queries.length,
    scores: meanOf(queries.map((query) => scoreOf(query, rank(query)))),
  })
  const [and, or] = [createPlainFts(tools, ' '), createPlainFts(tools, ' OR ')]
  const weighted = createWeightedFts(tools)
  return [
    score('A: FTS5, AND', ({ query }) => and(query, depth)),
    score('B: FTS5, OR', ({ query }) => or(query, depth)),
    score('F: FTS5, weighted', ({ query }) => weighted(query, depth)),
    isolaLine('isola', set, ({ query }) => [query]),
    ...(queries.some(({ steps }) => steps?.length)
      ? [isolaLine('isola, by steps', set, ({ query, steps }) => (steps?.length ? steps : [query]))]
      : []),
    unseenLine(set),
  ]
}

function isolaLine(
  variant: string,
  { name, tools, queries }: SearchSet,
  ask: (query: QueryRow) => readonly string[],
): Line {
  const index = createRankedIndex(tools.map(toDocument), shippedRanking)
  const [times, rows]: [number[], number[]] = [[], []]
  const scores = queries.map((query) => {
    const from = performance.now()
    const hits = index.search(ask(query), depth, (cost) => rows.push(cost.rowsRead))
    times.push(performance.now() - from)
    return scoreOf(
      query,
      hits.map(({ id }) => id),
    )
  })
  return {
    set: name,
    variant,
    tools: tools.length,
    queries: queries.length,
    scores: meanOf(scores),
    p50Ms: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
    rowsP50: quantile(rows, 0.5),
    rowsP95: quantile(rows, 0.95),
  }
}

/** Cross-validates the tuning: each fold is ranked with the settings that were best for the other folds. */
function unseenLine({ name, tools, queries }: SearchSet): Line {
  const documents = tools.map(toDocument)
  const tried = settingsTried.map((settings) => {
    const index = createRankedIndex(documents, settings)
    return new Map(
      queries.map((query) => {
        const hits = index.search([query.query], depth).map(({ id }) => id)
        return [query, scoreOf(query, hits)] as const
      }),
    )
  })
  const folds = foldsOf(queries)
  const scores = folds.flatMap((fold) => {
    const others = folds.filter((other) => other !== fold).flat()
    const sums = tried.map((one) => meanOf(others.flatMap((query) => one.get(query) ?? [])))
    const of = sums.map((mean) => mean['recall@5'] + mean['recall@10'])
    const best = tried[of.indexOf(Math.max(...of))]
    return fold.flatMap((query) => best?.get(query) ?? [])
  })
  return {
    set: name,
    variant: 'isola, tuned by folds',
    tools: tools.length,
    queries: queries.length,
    scores: meanOf(scores),
  }
}

function largeLine(set: SearchSet, more: readonly ToolRow[]): Line {
  return isolaLine('isola, large', withMore(set, more), ({ query }) => [query])
}

function withMore({ name, tools, queries }: SearchSet, more: readonly ToolRow[]): SearchSet {
  const own = new Set(tools.map(({ id }) => id))
  return { name, tools: [...tools, ...more.filter(({ id }) => !own.has(id))], queries }
}

/** Measures the cost of a search in workerd; recall is the same there. */
async function workerdLine(set: SearchSet): Promise<Line> {
  const line = isolaLine('isola, large, in workerd', set, ({ query }) => [query])
  const { times, rows } = await timeInWorkerd(set)
  const [p50Ms, p95Ms] = [quantile(times, 0.5), quantile(times, 0.95)]
  return { ...line, p50Ms, p95Ms, rowsP50: quantile(rows, 0.5), rowsP95: quantile(rows, 0.95) }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function print(shown: readonly Line[]): void {
  const cells = (values: readonly (string | number)[]): string =>
    values.map((value) => String(value).padStart(10)).join('')
  const head = ['tools', 'queries', ...measures, 'p50 ms', 'p95 ms', 'rows p50', 'rows p95']
  console.log(`${'set'.padEnd(12)}${'variant'.padEnd(26)}${cells(head)}`)
  for (const line of shown) {
    const { set, variant, tools, queries, scores, p50Ms, p95Ms, rowsP50, rowsP95 } = line
    const costs = [p50Ms?.toFixed(2), p95Ms?.toFixed(2), rowsP50, rowsP95]
    const all = [tools, queries, ...measures.map((name) => scores[name].toFixed(1))]
    console.log(
      `${set.padEnd(12)}${variant.padEnd(26)}${cells([...all, ...costs.map((cost) => cost ?? '')])}`,
    )
  }
  console.log(`\nPublished elsewhere, on other data:\n${published.join('\n')}`)
}
