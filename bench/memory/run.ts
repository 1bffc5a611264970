// Retrieval of long-term memory on LoCoMo, without a model, and what a search takes among 10,000 notes. Usage:
//   npm run bench:memory -- --data <folder> [--json]
// <folder> holds the conversations of snap-research/LoCoMo (non-commercial licence: not in here), one a file or all in
// locomo10.json. Every other one, by name, was for tuning; the figures are of the others.
import { createHmac } from 'node:crypto'
import { parseArgs } from 'node:util'
import { queryTerms, termsOf } from '../../src/runtime/catalog/search/words.ts'
import { createNoteIndex } from '../../src/features/memory/long-term/note-book.ts'
import { wordsOf, type HashWord } from '../../src/features/memory/long-term/note-words.ts'
import { createTestNotes } from '../../test/fakes/long-term.ts'
import { loadConversations, type Conversation } from './data.ts'
import { createPlainRanking } from './plain.ts'
import { depth, meanOf, measures, scoreOf, type Scores } from './scores.ts'

type Rank = (query: string) => Promise<readonly string[]> | readonly string[]

const wanted: Scores = { 'R@5': 61, 'R@10': 70, 'nDCG@10': 53, 'session R@5': 86 }
const { values: options } = parseArgs({
  options: { data: { type: 'string' }, json: { type: 'boolean', default: false } },
})
if (options.data === undefined)
  throw new Error('--data <folder> is missing: see bench/memory/run.ts.')
const all = loadConversations(options.data)
const [tuned, others] = [
  all.filter((_one, at) => at % 2 === 0),
  all.filter((_one, at) => at % 2 === 1),
]

/** Words without a key: each becomes the number of its first use. */
function plainWords(): HashWord {
  const known = new Map<string, number>()
  return (word) => known.get(word) ?? (known.set(word, known.size + 1), known.size)
}
const keyedWords: HashWord = (word) =>
  createHmac('sha256', 'key').update(word).digest().readUIntBE(0, 6)

function indexed({ turns }: Conversation, hash: HashWord): Rank {
  const index = createNoteIndex()
  const reader = { termsOf, queryTerms }
  turns.forEach(({ id, note }, row) => {
    const words = wordsOf(note, hash, reader)
    const conversation = Number(note.conversation!.split('_')[1])
    index.put({ row, id, place: 'principal', conversation, words, bytes: 0, updatedAtMs: 0 })
  })
  return (query) =>
    index
      .search([...queryTerms(query).keys()].map(hash), () => true, depth)
      .map(({ note }) => note.id)
}

/** The product's own store, sealed rows and all. */
async function stored({ turns }: Conversation): Promise<Rank> {
  const memory = createTestNotes()
  const { added } = await memory({
    verb: 'add',
    place: 'principal',
    notes: turns.map(({ note }) => note),
  })
  const turnOf = new Map(added!.map(({ id }, at) => [id, turns[at]!.id]))
  return async (query) =>
    (await memory({ verb: 'search', query, limit: depth })).notes!.map(({ id }) => turnOf.get(id)!)
}

async function scored(
  conversations: readonly Conversation[],
  build: (one: Conversation) => Rank | Promise<Rank>,
): Promise<Scores> {
  const scores: Scores[] = []
  for (const one of conversations) {
    const rank = await build(one)
    for (const { text, evidence } of one.questions) scores.push(scoreOf(evidence, await rank(text)))
  }
  return meanOf(scores)
}

/**
 * Searches among 10,000 notes: turns of all conversations, as often as it takes. Of three times the fastest counts:
 * others work on this machine.
 */
async function timed() {
  const memory = createTestNotes()
  const turns = all.flatMap(({ name, turns: said }) =>
    said.map(({ note }) => ({ ...note, conversation: `${name} ${note.conversation}` })),
  )
  const notes = Array.from({ length: 10_000 }, (_, at) => turns[at % turns.length]!)
  for (let at = 0; at < notes.length; at += 500)
    await memory({ verb: 'add', place: 'principal', notes: notes.slice(at, at + 500) })
  const times: number[] = []
  for (const { text } of all.flatMap(({ questions }) => questions).slice(0, 500)) {
    const tries: number[] = []
    for (let tried = 0; tried < 3; tried += 1) {
      const from = performance.now()
      await memory({ verb: 'search', query: text, limit: 10 })
      tries.push(performance.now() - from)
    }
    times.push(Math.min(...tries))
  }
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!
  return { notes: notes.length, p50Ms: at(0.5), p95Ms: at(0.95) }
}

const lines = [
  { variant: 'plain BM25, tuning', scores: await scored(tuned, createPlainRanking) },
  { variant: 'isola, tuning', scores: await scored(tuned, (one) => indexed(one, plainWords())) },
  { variant: 'plain BM25', scores: await scored(others, createPlainRanking) },
  {
    variant: 'isola, plain words',
    scores: await scored(others, (one) => indexed(one, plainWords())),
  },
  {
    variant: 'isola, keyed words',
    scores: await scored(others, (one) => indexed(one, keyedWords)),
  },
  { variant: 'isola, sealed store', scores: await scored(others, stored) },
]
const speed = await timed()
const count = others.reduce((sum, { questions }) => sum + questions.length, 0)
const missed = measures.filter((name) => lines.at(-1)!.scores[name] < wanted[name])
if (options.json)
  console.log(JSON.stringify({ tuned: tuned.map(({ name }) => name), lines, speed }))
else {
  const row = (name: string, cells: readonly (string | number)[]) =>
    console.log(name.padEnd(24) + cells.map((cell) => String(cell).padStart(13)).join(''))
  console.log(
    `tuned on ${tuned.map(({ name }) => name).join(', ')}; ${count} questions of the others:`,
  )
  row('', measures)
  for (const { variant, scores } of lines)
    row(
      variant,
      measures.map((name) => scores[name].toFixed(1)),
    )
  row(
    'wanted',
    measures.map((name) => wanted[name]),
  )
  console.log(
    `a search among ${speed.notes} sealed notes: p50 ${speed.p50Ms.toFixed(2)} ms, p95 ${speed.p95Ms.toFixed(2)} ms`,
  )
}
if (missed.length > 0 || speed.p95Ms >= 10) {
  console.error(`Below what is wanted: ${missed.join(', ') || 'p95'}.`)
  process.exitCode = 1
}
