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

  function searchOne(query: string): readonly SearchHit[] {
    const scores = new Map<number, number>()
    const matched = new Map<number, string[]>()
    for (const [term, word] of queryTerms(query)) {
      const found = postings.get(term)
      if (!found) continue
      const rarity = Math.log(1 + (documents.length - found.length + 0.5) / (found.length + 0.5))
      for (const { document, frequency } of found) {
        const gain = (rarity * frequency * (k1 + 1)) / (frequency + (norms[document] ?? k1))
        scores.set(document, (scores.get(document) ?? 0) + gain)
        const words = matched.get(document)
        if (words) words.push(word)
        else matched.set(document, [word])
      }
    }
    return [...scores]
      .toSorted(([a, scoreA], [z, scoreZ]) => scoreZ - scoreA || a - z)
      .map(([index, score]) => ({
        id: documents[index]?.id ?? '',
        score,
        matched: matched.get(index) ?? [],
      }))
  }

  return {
    search: (queries, limit) => roundRobin(queries.slice(0, maxQueries).map(searchOne), limit),
  }
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
