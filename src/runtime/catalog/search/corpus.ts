import type { ReadSearchDocument } from '#contracts/search.ts'
import type { RankSettings } from './read-document.ts'

/** One document that has a term. */
export interface Posting {
  readonly document: number
  /** Occurrences, each counted with its field's weight. */
  readonly frequency: number
}

/** Which documents have which terms, in document order, and which say that they are not for a term. */
function createPostings(documents: readonly ReadSearchDocument[]) {
  const byTerm = new Map<string, Posting[]>()
  const exclusions = new Map<string, Set<number>>()
  for (const [document, { terms, counts, excluded }] of documents.entries()) {
    for (const [at, term] of terms.entries()) {
      const posting = { document, frequency: counts[at] ?? 0 }
      const list = byTerm.get(term)
      if (list) list.push(posting)
      else byTerm.set(term, [posting])
    }
    for (const term of excluded) {
      const set = exclusions.get(term) ?? new Set()
      exclusions.set(term, set.add(document))
    }
  }
  return { byTerm, exclusions }
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

/** FTS5's own constants. */
const k1 = 1.2
const b = 0.75

/** All documents, in the form in which they are ranked. */
export interface Corpus {
  readonly settings: RankSettings
  readonly size: number
  readonly postingsOf: (term: string) => readonly Posting[]
  readonly rarityOf: (term: string) => number
  /** BM25 of one occurrence for a word that counts one. */
  readonly gainOf: (posting: Posting) => number
  readonly nameOf: (document: number) => Iterable<string>
  /** Documents that say they are not for a term. */
  readonly excluding: (term: string) => ReadonlySet<number>
  readonly owners: Owners
}

export interface Owners {
  /** The number of a document's owner. A document without an owner is its own. */
  readonly of: (document: number) => number
  /** Whether this document is its owner's only one. */
  readonly isOnly: (document: number) => boolean
}

const none: readonly Posting[] = []
const nobody: ReadonlySet<number> = new Set()

export function createCorpus(
  documents: readonly ReadSearchDocument[],
  settings: RankSettings,
): Corpus {
  const { byTerm, exclusions } = createPostings(documents)
  const size = documents.length
  const averageLength = documents.reduce((sum, { length }) => sum + length, 0) / (size || 1) || 1
  const norms = documents.map(({ length }) => k1 * (1 - b + (b * length) / averageLength))
  const postingsOf = (term: string): readonly Posting[] => byTerm.get(term) ?? none
  return {
    settings,
    size,
    postingsOf,
    rarityOf(term) {
      const count = postingsOf(term).length
      return Math.log(1 + (size - count + 0.5) / (count + 0.5))
    },
    gainOf: ({ document, frequency }) =>
      (frequency * (k1 + 1)) / (frequency + (norms[document] ?? k1)),
    nameOf: (document) => documents[document]?.names ?? [],
    excluding: (term) => exclusions.get(term) ?? nobody,
    owners: toOwners(documents),
  }
}

function toOwners(documents: readonly ReadSearchDocument[]): Owners {
  const numbers = new Map<string, number>()
  const counts: number[] = []
  const owners = documents.map(({ owner }, index) => {
    const key = owner === '' ? `#${index}` : owner
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    counts[number] = (counts[number] ?? 0) + 1
    return number
  })
  const of = (document: number): number => owners[document] ?? 0
  return { of, isOnly: (document) => counts[of(document)] === 1 }
}

/** A word's postings, with the weight of one occurrence. */
export interface WeighedTerm {
  readonly list: readonly Posting[]
  readonly weight: number
}

export function addScores(
  scores: Float64Array,
  terms: readonly WeighedTerm[],
  { gainOf }: Corpus,
): void {
  for (const { list, weight } of terms) {
    for (const posting of list)
      scores[posting.document] = (scores[posting.document] ?? 0) + weight * gainOf(posting)
  }
}

/** The highest score of these documents, 1 if there is none. */
export const highest = (scores: Float64Array, documents: readonly number[]): number =>
  documents.reduce((most, index) => Math.max(most, scores[index] ?? 0), 0) || 1

/** The documents with the highest positive scores, best first; equal ones in order. No full sort: most never matter. */
export function best(
  scores: Float64Array,
  documents: readonly number[],
  limit: number,
): readonly number[] {
  const top: number[] = []
  for (const index of documents) {
    const score = scores[index] ?? 0
    const last = top.at(-1)
    const isFull = top.length >= limit
    if (score <= 0 || (isFull && (last === undefined || score <= (scores[last] ?? 0)))) continue
    let at = top.length
    while (at > 0 && (scores[top[at - 1] ?? 0] ?? 0) < score) at -= 1
    top.splice(at, 0, index)
    if (isFull) top.pop()
  }
  return top
}
