import type { ReadSearchDocument } from '#contracts/search.ts'

/** One document that has a term. */
export interface Posting {
  readonly document: number
  /** Occurrences, each counted with its field's weight. */
  readonly frequency: number
}

/** Which documents have which terms. */
export interface Postings {
  /** The postings by term, in document order. */
  readonly byTerm: ReadonlyMap<string, readonly Posting[]>
  /** Documents that say they are not for a term. */
  readonly exclusions: ReadonlyMap<string, ReadonlySet<number>>
}

export function createPostings(documents: readonly ReadSearchDocument[]): Postings {
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
