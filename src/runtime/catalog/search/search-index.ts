import type {
  BuildSearchIndex,
  ReadSearchDocument,
  SearchDocument,
  SearchHit,
  SearchIndex,
} from '#contracts/search.ts'
import { createCorpus, postingOf, addScores, best } from './corpus.ts'
import { isOwn, lookUp, touchedBy, weighed, exclusionCost, rank } from './rank.ts'
import { createDocumentReader, shippedRanking, type RankSettings } from './read-document.ts'
import { readQuery } from './query.ts'

/** Queries in one search beyond this many are left out: each costs a pass over its postings. */
const maxQueries = 32

interface Ranking {
  readonly hits: readonly SearchHit[]
  readonly rows: number
}

/**
 * Builds a BM25 index in memory: OR over the query's words and their synonyms, Porter stems, weighted fields.
 *
 * Pure and deterministic; search never throws, for any text. A query costs the postings of its rare words.
 * @see bench/search/run.ts for recall against public sets
 */
export const createSearchIndex: BuildSearchIndex = (documents) =>
  createRankedIndex(documents, shippedRanking)

/** The same with other settings, to measure them. */
export function createRankedIndex(
  given: readonly (SearchDocument | ReadSearchDocument)[],
  settings: RankSettings,
): SearchIndex {
  const read = createDocumentReader(settings.fields)
  const documents = given.map((one) => ('terms' in one ? one : read(one)))
  const corpus = createCorpus(documents, settings)

  function searchOne(text: string, limit: number): Ranking {
    const query = readQuery(text, settings.synonymWeight)
    const { found, rows } = lookUp(query, corpus)
    const own = new Float64Array(corpus.size)
    addScores(own, weighed(query.terms.filter(isOwn), found), corpus)
    const scores = own.slice()
    const others = query.terms.filter((one) => !isOwn(one))
    addScores(scores, weighed(others, found), corpus)
    const touched = touchedBy(found)
    rank({ query, found, scores, touched }, corpus)
    const hits = best(scores, touched, limit).map((document) => ({
      id: documents[document]?.id ?? '',
      score: scores[document] ?? 0,
      fit: (own[document] ?? 0) - exclusionCost(query, document, corpus),
      matched: query.terms
        .filter((one) => isOwn(one) && postingOf(found.get(one.term)?.list ?? [], document))
        .map(({ word }) => word),
    }))
    return { hits, rows }
  }

  return {
    search(queries, limit, onCost) {
      const rankings = queries.slice(0, maxQueries).map((query) => searchOne(query, limit))
      onCost?.({ rowsRead: rankings.reduce((sum, { rows }) => sum + rows, 0) })
      return roundRobin(
        rankings.map(({ hits }) => hits),
        limit,
      )
    },
  }
}

/** The first of each query, then the second of each, and so on, every id once. */
function roundRobin(
  rankings: readonly (readonly SearchHit[])[],
  limit: number,
): readonly SearchHit[] {
  const merged = new Map<string, SearchHit>()
  const depth = Math.max(0, ...rankings.map((ranking) => ranking.length))
  for (let place = 0; place < depth && merged.size < limit; place += 1) {
    for (const ranking of rankings) {
      const hit = ranking[place]
      if (hit && merged.size < limit && !merged.has(hit.id)) merged.set(hit.id, hit)
    }
  }
  return [...merged.values()]
}
