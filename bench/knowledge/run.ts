// Retrieval of passages on this repository's own pages, without a model. Usage:
//   npm run bench:knowledge [-- --json] [-- --misses]
// A question of questions.json is found at k if one of the first k passages is of its document and has the words that
// answer it. The questions were written by hand, in a user's words; every other one was for tuning.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { markdownBlocks } from '../../src/features/memory/knowledge/blocks.ts'
import { toPassages } from '../../src/features/memory/knowledge/read-document.ts'
import { labelFrom } from '../../src/contracts/label.ts'
import { createTestDocuments } from '../../test/fakes/long-term.ts'

interface Question {
  readonly asked: string
  readonly document: string
  readonly says: string
}

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    misses: { type: 'boolean', default: false },
  },
})
const root = join(import.meta.dirname, '../..')
const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => join('docs', path))
  .toSorted()
const questions = JSON.parse(
  readFileSync(join(import.meta.dirname, 'questions.json'), 'utf8'),
) as readonly Question[]

const store = createTestDocuments()
let count = 0
for (const name of pages) {
  const { title, blocks } = await markdownBlocks(
    readFileSync(join(root, name), 'utf8'),
    async () => {},
  )
  const passages = toPassages(blocks)
  count += passages.length
  const document = {
    name,
    ...(title !== undefined && { title }),
    type: 'markdown',
    hash: name,
    chars: 0,
    label: labelFrom('knowledge'),
  } as const
  await store({ verb: 'put', place: 'principal', document, passages })
}

/** Where the first passage is that answers, from 1; nothing among the first ten. */
async function rankOf({ asked, document, says }: Question): Promise<number | undefined> {
  const { passages = [] } = await store({ verb: 'search', query: asked, limit: 10 })
  const at = passages.findIndex((one) => one.document.name === document && one.text.includes(says))
  return at < 0 ? undefined : at + 1
}

const ranks: (number | undefined)[] = []
for (const question of questions) {
  if (!readFileSync(join(root, question.document), 'utf8').includes(question.says))
    throw new Error(`${question.document} does not say “${question.says}” any more.`)
  ranks.push(await rankOf(question))
}
const startedAtMs = performance.now()
for (const question of questions) await rankOf(question)
const searchMs = (performance.now() - startedAtMs) / questions.length

const share = (among: typeof ranks, most: number): number =>
  Math.round(
    (1_000 * among.filter((rank) => rank !== undefined && rank <= most).length) / among.length,
  ) / 10
const figures = (among: typeof ranks) => ({
  questions: among.length,
  'R@1': share(among, 1),
  'R@5': share(among, 5),
  'R@10': share(among, 10),
})
const result = {
  documents: pages.length,
  passages: count,
  tuned: figures(ranks.filter((_rank, at) => at % 2 === 0)),
  others: figures(ranks.filter((_rank, at) => at % 2 === 1)),
  searchMs: Math.round(searchMs * 10) / 10,
}
if (options.misses)
  questions.forEach(({ asked }, at) => {
    if ((ranks[at] ?? 99) > 5)
      console.error(`${ranks[at] ?? '-'}  ${at % 2 === 0 ? 'tuned' : 'other'}  ${asked}`)
  })
if (options.json) console.log(JSON.stringify(result))
else {
  console.log(
    `${result.documents} documents, ${result.passages} passages, ${result.searchMs} ms a search`,
  )
  console.table({ tuned: result.tuned, others: result.others })
}
