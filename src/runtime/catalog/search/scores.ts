import type { Corpus } from './corpus.ts'
import type { Posting } from './postings.ts'

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
