import { stemOf } from './stemmer.ts'
import { headOf } from '#contracts/cut.ts'
import { synonymsOf } from './synonyms.ts'
import { clausesOf, maxQueryChars, queryTerms, sentencesOf } from './words.ts'

/** Words for each file ending. Not `js`: in `Node.js` it is part of a name. */
const kinds: ReadonlyMap<string, string> = new Map(
  `md markdown
  txt text
  csv csv spreadsheet
  xlsx excel spreadsheet
  xls excel spreadsheet
  docx word document
  doc word document
  pptx presentation powerpoint
  ppt presentation powerpoint
  pdf pdf document
  png image
  jpg image
  jpeg image
  gif image
  webp image
  svg image
  mp3 audio
  wav audio
  mp4 video
  mov video
  zip archive
  json json
  html html
  py python
  ts typescript
  yml yaml
  yaml yaml
  sql sql database`
    .split('\n')
    .map((line) => line.trim().split(/ (.*)/) as [string, string]),
)

/** An address, a path or a bare name with an ending. */
const filePattern =
  /(?<!\w)\w+:\/\/\S+|(?:~|\.{1,2})?(?:\/[\w.{}-]+)+|\b[\w-]{1,64}\.[a-z][a-z0-9]{1,4}\b/giu
const saving =
  /\b(?:sav(?:e[ds]?|ing)|write|create|generate|make|export|store|put|output|draft|produce|give|build|download)\b/iu
const clauseEnd = /[.!?;,\n]\s|\bthen\b/u
/** How far before a file's name words for writing are searched, in characters. */
const maxBefore = 120

/** A text with the files that it names, and what the query wants with them. */
interface NamedFiles {
  /** The text without their names. */
  readonly rest: string
  /** Words for the files: `file`, their kinds and their endings. */
  readonly words: readonly string[]
  /** Terms with their weights: writing or reading such a file. */
  readonly questions: readonly ReadonlyMap<string, number>[]
}

/**
 * The name of a file says little; its ending and the verb before it say more: `save it to ~/notes/rome.md` wants a tool
 * that writes.
 */
export function namedFiles(text: string): NamedFiles {
  const words = new Set<string>()
  const questions = new Map<string, ReadonlyMap<string, number>>()
  const rest = text.replace(filePattern, (name: string, at: number) => {
    const ending = /\.([a-z0-9]{2,5})\.*$/i.exec(name)?.[1]?.toLowerCase() ?? ''
    const kind = name.includes('://') ? undefined : kinds.get(ending)?.split(' ')
    if (!kind) return name
    const before =
      text
        .slice(Math.max(0, at - maxBefore), at)
        .split(clauseEnd)
        .at(-1) ?? ''
    const verb = saving.test(before) ? 'write' : 'read'
    for (const word of ['file', ...kind, ending]) words.add(word)
    const told = new Map([
      ...kind.map((word) => [stemOf(word), 0.2] as const),
      ['file', 1] as const,
    ])
    questions.set(`${verb} ${kind.join(' ')}`, told.set(verb, 1))
    // The end of a sentence is none of a name's.
    return name.endsWith('.') ? ' .' : ' '
  })
  return { rest, words: [...words], questions: [...questions.values()].slice(0, 4) }
}

/** A query of more telling words is a text: it says its things in several words itself. */
const maxTerms = 40
/** Parts of a query beyond this many only count as part of the whole. */
const maxParts = 16

/** A stem that is looked up. */
export interface QueryTerm {
  readonly term: string
  /** The query's word that it comes from. */
  readonly word: string
  readonly weight: number
  /** The stem that it stands for, if it is a synonym. */
  readonly of?: string
}

/** A query, read. */
export interface ReadQuery {
  readonly terms: readonly QueryTerm[]
  /** Its sentences and clauses, by their stems; none if it has only one. */
  readonly parts: readonly ReadonlySet<string>[]
  /** The terms for the files that it names: stems with their weights. */
  readonly files: readonly ReadonlyMap<string, number>[]
  readonly isLong: boolean
}

/** Linear in the text, of which the first 8,192 characters count. */
export function readQuery(whole: string, synonymWeight: number): ReadQuery {
  const text = headOf(whole, maxQueryChars)
  const all = queryTerms(text)
  if (all.size > maxTerms) {
    const parts = partsOf(sentencesOf(text).slice(0, maxParts))
    return { terms: toTerms(all), parts, files: [], isLong: true }
  }
  const { rest, words, questions } = namedFiles(text)
  const told = new Map(words.length > 0 ? queryTerms(rest) : all)
  for (const word of words) told.set(stemOf(word), word)
  const synonyms = new Map<string, QueryTerm>()
  for (const [of, word] of synonymWeight > 0 ? told : []) {
    for (const term of synonymsOf(of))
      if (!told.has(term) && !synonyms.has(term))
        synonyms.set(term, { term, word, weight: synonymWeight, of })
  }
  const clauses = clausesOf(text)
  const parts = partsOf(clauses.length > maxParts ? sentencesOf(text).slice(0, maxParts) : clauses)
  const terms = [...toTerms(told), ...synonyms.values()]
  return { terms, parts, files: questions, isLong: false }
}

const toTerms = (words: ReadonlyMap<string, string>): readonly QueryTerm[] =>
  [...words].map(([term, word]) => ({ term, word, weight: 1 }))

function partsOf(texts: readonly string[]): ReadQuery['parts'] {
  return texts.length > 1 ? texts.map((text) => new Set(queryTerms(text).keys())) : []
}
