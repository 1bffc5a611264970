import type { BuildSearchIndex, SearchDocument, SearchHit, SearchIndex } from '#contracts/search.ts'
import { splitExclusions } from './exclusions.ts'
import { queryTerms, sentencesOf, termsOf } from './words.ts'

/** FTS5's own constants. */
const k1 = 1.2
const b = 0.75
/** Queries in one search beyond this many are left out: each costs a pass over its postings. */
const maxQueries = 32
/** Sentences of a query beyond this many only count as part of the whole. */
const maxSentences = 16

type Field = Exclude<keyof SearchDocument, 'id'>

/** How documents are ranked; the numbers are round, since tuning overfits (docs/decisions/0084). */
export interface RankSettings {
  /** What a word counts in a field, and how much a word of it lengthens the document. */
  readonly fields: readonly (readonly [field: Field, weight: number, length: number])[]
  /** Share of the best sentence in the score of a query of several; the rest is the whole query's. */
  readonly sentenceShare: number
  /** What the words cost that a description says it is not for, against what a match of them would give. */
  readonly exclusionCost: number
  /** Rare words first, words are looked up until so many postings were read: it bounds a search. */
  readonly maxPostings: number
}

/** What is shipped. */
export const shippedRanking: RankSettings = {
  fields: [
    ['name', 3, 1],
    ['owner', 1, 1],
    ['description', 1, 1],
    ['parameters', 0.5, 0.3],
    ['body', 0.3, 0.1],
  ],
  sentenceShare: 0.4,
  exclusionCost: 0.5,
  maxPostings: 8_000,
}

interface Posting {
  readonly document: number
  /** Occurrences, each counted with its field's weight. */
  frequency: number
}

interface Ranking {
  readonly hits: readonly SearchHit[]
  readonly rows: number
}

interface FoundTerm {
  readonly term: string
  readonly word: string
  readonly list: readonly Posting[]
}

/**
 * Builds a BM25 index in memory: OR over the query's words, Porter stems, weighted fields.
 *
 * Pure and deterministic; search never throws, whatever the text. A query costs the postings of its words.
 * @see bench/search/run.ts for recall against public sets
 */
export const createSearchIndex: BuildSearchIndex = (documents) =>
  createRankedIndex(documents, shippedRanking)

/** The same with other settings, to measure them. */
export function createRankedIndex(
  documents: readonly SearchDocument[],
  settings: RankSettings,
): SearchIndex {
  const postings = new Map<string, Posting[]>()
  const exclusions = new Map<string, Set<number>>()
  const lengths = documents.map((document, index) => {
    const { positive, excluded } = splitExclusions(document.description)
    const told = { ...document, description: positive }
    const length = addDocument(postings, { document: told, index, fields: settings.fields })
    const own = new Set(settings.fields.flatMap(([field]) => termsOf(told[field] ?? '')))
    for (const [term] of queryTerms(excluded)) {
      if (own.has(term)) continue
      const set = exclusions.get(term) ?? new Set()
      exclusions.set(term, set.add(index))
    }
    return length
  })
  const averageLength =
    lengths.reduce((sum, length) => sum + length, 0) / (documents.length || 1) || 1
  const norms = lengths.map((length) => k1 * (1 - b + (b * length) / averageLength))
  const rarityOf = (held: number): number =>
    Math.log(1 + (documents.length - held + 0.5) / (held + 0.5))

  function addScores(scores: Float64Array, terms: readonly FoundTerm[]): void {
    for (const { list } of terms) {
      const rarity = rarityOf(list.length)
      for (const { document, frequency } of list) {
        const gain = (rarity * frequency * (k1 + 1)) / (frequency + (norms[document] ?? k1))
        scores[document] = (scores[document] ?? 0) + gain
      }
    }
  }

  /** How well each document fits the sentence it fits best, from 0 to 1: the first of a sentence has 1. */
  function bestSentences(query: string, found: readonly FoundTerm[]): Float64Array | undefined {
    const sentences = sentencesOf(query)
      .slice(0, maxSentences)
      .map((sentence) => [...queryTerms(sentence).keys()])
    if (sentences.length < 2) return undefined
    const most = new Float64Array(documents.length)
    const one = new Float64Array(documents.length)
    for (const terms of sentences) {
      const own = new Set(terms)
      const there = found.filter(({ term }) => own.has(term))
      addScores(one, there)
      const top = highest(one)
      for (const { list } of there) {
        for (const { document } of list) {
          most[document] = Math.max(most[document] ?? 0, (one[document] ?? 0) / top)
          one[document] = 0
        }
      }
    }
    return most
  }

  function searchOne(query: string, limit: number): Ranking {
    const terms = queryTerms(query)
    const found = rarest(
      [...terms].flatMap(([term, word]) => {
        const list = postings.get(term)
        return list ? [{ term, word, list }] : []
      }),
      settings.maxPostings,
    )
    const scores = new Float64Array(documents.length)
    addScores(scores, found)
    const share = settings.sentenceShare
    const most = share > 0 ? bestSentences(query, found) : undefined
    if (most) {
      const top = highest(scores)
      for (const [index, score] of scores.entries())
        if (score > 0) scores[index] = (1 - share) * score + share * top * (most[index] ?? 0)
    }
    for (const term of terms.keys()) {
      const cost = settings.exclusionCost * rarityOf(postings.get(term)?.length ?? 0)
      for (const document of exclusions.get(term) ?? [])
        scores[document] = (scores[document] ?? 0) - cost
    }
    const hits = best(scores, limit).map((index) => ({
      id: documents[index]?.id ?? '',
      score: scores[index] ?? 0,
      matched: found.filter(({ list }) => holds(list, index)).map(({ word }) => word),
    }))
    return { hits, rows: found.reduce((sum, { list }) => sum + list.length, 0) }
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

const highest = (scores: Float64Array): number =>
  scores.reduce((most, score) => Math.max(most, score), 0) || 1

/** The rarest words whose postings are no more than `maxPostings` together; the rarest one in any case. */
function rarest(found: readonly FoundTerm[], maxPostings: number): readonly FoundTerm[] {
  let sum = 0
  const byRarity = found.toSorted((one, other) => one.list.length - other.list.length)
  const kept = new Set(
    byRarity.filter(({ list }, at) => (sum += list.length) <= maxPostings || at === 0),
  )
  return found.filter((one) => kept.has(one))
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

interface AddedDocument {
  readonly document: SearchDocument
  readonly index: number
  readonly fields: RankSettings['fields']
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
