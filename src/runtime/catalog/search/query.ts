import { headOf } from '#contracts/cut.ts'
import { namedFiles } from './named-files.ts'
import { stemOf } from './stemmer.ts'
import { synonymsOf } from './synonyms.ts'
import { clausesOf, maxQueryChars, queryTerms, sentencesOf } from './words.ts'

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
