import type { BuildSearchIndex, SearchDocument, SearchHit, SearchIndex } from '#contracts/search.ts'
import { queryTerms, termsOf } from './words.ts'

/** FTS5's own constants, and variant E of the measured baselines: round numbers, since tuning overfits. */
const k1 = 1.2
const b = 0.75
const fields: readonly (readonly [field: Exclude<keyof SearchDocument, 'id'>, weight: number])[] = [
  ['name', 3],
  ['owner', 1],
  ['description', 1],
  ['parameters', 0.5],
]
/** Queries in one search beyond this many are left out: each costs a pass over its postings. */
const maxQueries = 32

interface Posting {
  readonly document: number
  /** Occurrences, each counted with its field's weight. */
  frequency: number
}

/**
 * Builds a BM25 index in memory: OR over the query's words, Porter stems, weighted fields.
 *
 * Pure and deterministic; search never throws, whatever the text. A query costs the postings of its words.
 * @see bench/toolsearch.ts for recall against public sets
 */
export const createSearchIndex: BuildSearchIndex = (documents): SearchIndex => {
  const postings = new Map<string, Posting[]>()
  const lengths = documents.map((document, index) => addDocument(postings, document, index))
  const averageLength =
    lengths.reduce((sum, length) => sum + length, 0) / (documents.length || 1) || 1
  const norms = lengths.map((length) => k1 * (1 - b + (b * length) / averageLength))

  function searchOne(query: string, limit: number): readonly SearchHit[] {
    const scores = new Float64Array(documents.length)
    const found = [...queryTerms(query)].flatMap(([term, word]) => {
      const list = postings.get(term)
      return list ? [{ word, list }] : []
    })
    for (const { list } of found) {
      const rarity = Math.log(1 + (documents.length - list.length + 0.5) / (list.length + 0.5))
      for (const { document, frequency } of list) {
        const gain = (rarity * frequency * (k1 + 1)) / (frequency + (norms[document] ?? k1))
        scores[document] = (scores[document] ?? 0) + gain
      }
    }
    return best(scores, limit).map((index) => ({
      id: documents[index]?.id ?? '',
      score: scores[index] ?? 0,
      matched: found.filter(({ list }) => holds(list, index)).map(({ word }) => word),
    }))
  }

  return {
    search: (queries, limit) =>
      roundRobin(
        queries.slice(0, maxQueries).map((query) => searchOne(query, limit)),
        limit,
      ),
  }
}

/** The indexes of the highest positive scores, best first; equal ones in order. No full sort: most never matter. */
function best(scores: Float64Array, limit: number): readonly number[] {
  const top: number[] = []
  for (const [index, score] of scores.entries()) {
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

/** Postings are in document order. */
function holds(list: readonly Posting[], document: number): boolean {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle]?.document ?? 0) < document) low = middle + 1
    else high = middle
  }
  return list[low]?.document === document
}

/** Files one document under its terms and returns its length in terms. */
function addDocument(
  postings: Map<string, Posting[]>,
  document: SearchDocument,
  index: number,
): number {
  let length = 0
  for (const [field, weight] of fields) {
    const terms = termsOf(document[field])
    length += terms.length
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

/** The first of each query, then the second of each, and so on, every id once. */
function roundRobin(
  rankings: readonly (readonly SearchHit[])[],
  limit: number,
): readonly SearchHit[] {
  const merged = new Map<string, SearchHit>()
  const depth = Math.max(0, ...rankings.map((ranking) => ranking.length))
  for (let rank = 0; rank < depth && merged.size < limit; rank += 1) {
    for (const ranking of rankings) {
      const hit = ranking[rank]
      if (hit && merged.size < limit && !merged.has(hit.id)) merged.set(hit.id, hit)
    }
  }
  return [...merged.values()]
}
