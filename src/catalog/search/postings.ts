import type { SearchDocument } from '#contracts/search.ts'
import { splitExclusions } from './exclusions.ts'
import { createTermReader, queryTerms } from './words.ts'

type Field = Exclude<keyof SearchDocument, 'id'>

/** What a word counts in a field, and how much a word of it lengthens the document. */
export type FieldWeight = readonly [field: Field, weight: number, length: number]

/** That a document has a term. */
export interface Posting {
  readonly document: number
  /** Occurrences, each counted with its field's weight. */
  frequency: number
}

/** Which documents have which terms. */
export interface Postings {
  /** In document order. */
  readonly byTerm: ReadonlyMap<string, readonly Posting[]>
  /** Length of each document in terms, and the stems of its name. */
  readonly lengths: readonly number[]
  readonly names: readonly ReadonlySet<string>[]
  /** Documents that say they are not for a term. */
  readonly exclusions: ReadonlyMap<string, ReadonlySet<number>>
}

export function createPostings(
  documents: readonly SearchDocument[],
  fields: readonly FieldWeight[],
): Postings {
  const byTerm = new Map<string, Posting[]>()
  const exclusions = new Map<string, Set<number>>()
  const lengths: number[] = []
  const termsOf = createTermReader()
  for (const [index, document] of documents.entries()) {
    const { positive, excluded } = splitExclusions(document.description)
    const told = { ...document, description: positive }
    const read = fields.map((of) => ({ of, terms: termsOf(told[of[0]] ?? '') }))
    lengths.push(addDocument(byTerm, index, read))
    if (excluded === '') continue
    const own = new Set(read.flatMap(({ terms }) => terms))
    for (const [term] of queryTerms(excluded)) {
      if (own.has(term)) continue
      const set = exclusions.get(term) ?? new Set()
      exclusions.set(term, set.add(index))
    }
  }
  const names = documents.map(({ name }) => new Set(termsOf(name)))
  return { byTerm, lengths, names, exclusions }
}

interface ReadField {
  readonly of: FieldWeight
  readonly terms: readonly string[]
}

/** Files one document under its terms and returns its length in terms. */
function addDocument(
  postings: Map<string, Posting[]>,
  index: number,
  fields: readonly ReadField[],
): number {
  let length = 0
  for (const {
    of: [, weight, lengthens],
    terms,
  } of fields) {
    length += terms.length * lengthens
    for (const term of terms) {
      const list = postings.get(term)
      const last = list?.at(-1)
      if (last?.document === index) last.frequency += weight
      else if (list) list.push({ document: index, frequency: weight })
      else postings.set(term, [{ document: index, frequency: weight }])
    }
  }
  return length
}

/** The entry of a document in a list, which is in document order. */
export function postingOf(list: readonly Posting[], document: number): Posting | undefined {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle]?.document ?? 0) < document) low = middle + 1
    else high = middle
  }
  const found = list[low]
  return found?.document === document ? found : undefined
}
