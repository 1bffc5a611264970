import type { SearchDocument } from '#contracts/search.ts'
import { splitExclusions } from './exclusions.ts'
import { queryTerms, termsOf } from './words.ts'

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
  for (const [index, document] of documents.entries()) {
    const { positive, excluded } = splitExclusions(document.description)
    const told = { ...document, description: positive }
    lengths.push(addDocument(byTerm, { document: told, index, fields }))
    const own = new Set(fields.flatMap(([field]) => termsOf(told[field] ?? '')))
    for (const [term] of queryTerms(excluded)) {
      if (own.has(term)) continue
      const set = exclusions.get(term) ?? new Set()
      exclusions.set(term, set.add(index))
    }
  }
  const names = documents.map(({ name }) => new Set(termsOf(name)))
  return { byTerm, lengths, names, exclusions }
}

interface AddedDocument {
  readonly document: SearchDocument
  readonly index: number
  readonly fields: readonly FieldWeight[]
}

/** Files one document under its terms and returns its length in terms. */
function addDocument(
  postings: Map<string, Posting[]>,
  { document, index, fields }: AddedDocument,
): number {
  let length = 0
  for (const [field, weight, lengthens] of fields) {
    const terms = termsOf(document[field] ?? '')
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
