import {
  type Corpus,
  postingOf,
  type Posting,
  addScores,
  best,
  type WeighedTerm,
  highest,
} from './corpus.ts'
import type { QueryTerm, ReadQuery } from './query.ts'

interface FoundTerm {
  readonly list: readonly Posting[]
  readonly rarity: number
}
type FoundTerms = ReadonlyMap<string, FoundTerm>

interface LookedUp {
  readonly found: FoundTerms
  /** Entries of the index that were read. */
  readonly rows: number
}

/**
 * The postings of a query's words: whole lists, the rare words' first, as long as they fit. Common words are looked up
 * only for the documents that fit best until then: of thousands that have `get` few matter.
 */
export function lookUp(query: ReadQuery, corpus: Corpus): LookedUp {
  const { postingsOf, settings } = corpus
  const found = new Map<string, FoundTerm>()
  const most = query.isLong ? settings.maxPostings.text : settings.maxPostings.question
  const later: QueryTerm[] = []
  let rows = 0
  for (const one of inOrder(query, corpus)) {
    const list = postingsOf(one.term)
    if (list.length === 0) continue
    if (found.size > 0 && rows + list.length > most) later.push(one)
    else {
      rows += list.length
      found.set(one.term, { list, rarity: rarityOf(one, corpus) })
    }
  }
  if (later.length === 0) return { found, rows }
  const scores = new Float64Array(corpus.size)
  addScores(scores, weighed(query.terms, found), corpus)
  const documents = best(scores, touchedBy(found), settings.completed).toSorted((a, z) => a - z)
  for (const one of later) {
    const all = postingsOf(one.term)
    const list = documents.flatMap((document) => postingOf(all, document) ?? [])
    rows += list.length
    found.set(one.term, { list, rarity: rarityOf(one, corpus) })
  }
  return { found, rows }
}

/** The terms for files, then the query's own words, then their synonyms; rare terms first, each once. */
function inOrder({ terms, files }: ReadQuery, { postingsOf }: Corpus): readonly QueryTerm[] {
  const needed = new Set(files.flatMap((one) => [...one.keys()]))
  const others = terms
    .filter(({ term }) => !needed.has(term))
    .toSorted((one, other) => postingsOf(one.term).length - postingsOf(other.term).length)
  return [
    ...[...needed].map((term) => ({ term, word: term, weight: 0 })),
    ...others.filter(isOwn),
    ...others.filter((one) => !isOwn(one)),
  ]
}

/** Whether a term is the query's own word, and no synonym. */
export const isOwn = ({ of }: QueryTerm): boolean => of === undefined

/** A synonym is no rarer than the word it stands for: `obtain` for `get` tells no more than `get`. */
function rarityOf({ term, of }: QueryTerm, { postingsOf, rarityOf: plain }: Corpus): number {
  const isThere = of !== undefined && postingsOf(of).length > 0
  return isThere ? Math.min(plain(of), plain(term)) : plain(term)
}

/** The terms that were found, with the weight of one occurrence. */
export const weighed = (
  terms: readonly { readonly term: string; readonly weight: number }[],
  found: FoundTerms,
): readonly WeighedTerm[] =>
  terms.flatMap(({ term, weight }) => {
    const one = found.get(term)
    return one ? [{ list: one.list, weight: weight * one.rarity }] : []
  })

/** Every document that has any of the words, in order. */
export const touchedBy = (found: FoundTerms): readonly number[] =>
  [
    ...new Set([...found.values()].flatMap(({ list }) => list.map(({ document }) => document))),
  ].toSorted((a, z) => a - z)

/** How steeply the gain for a file falls: only documents that fit almost as well as the best one gain. */
const fileSlope = 4
/** How many of the best documents have their names compared. */
const maxNamed = 100

/** One query under way: the scores of its words, on which the other steps build. */
export interface QueryWork {
  readonly query: ReadQuery
  readonly found: FoundTerms
  readonly scores: Float64Array
  /** The documents that have any of its words. */
  readonly touched: readonly number[]
}

/** Turns the scores of words into the ranking. A document with a score above zero keeps one, except by exclusions. */
export function rank(work: QueryWork, corpus: Corpus): void {
  addParts(work, corpus)
  addOwners(work, corpus)
  addFiles(work, corpus)
  addNames(work, corpus)
  const { query, scores } = work
  const excluding = new Set(query.terms.flatMap(({ term }) => [...corpus.excluding(term)]))
  for (const document of excluding)
    scores[document] = (scores[document] ?? 0) - exclusionCost(query, document, corpus)
}

/** The cost of the query's words for a document that excludes them. */
export const exclusionCost = ({ terms }: ReadQuery, document: number, corpus: Corpus): number =>
  terms
    .filter(({ term }) => corpus.excluding(term).has(document))
    .reduce((sum, { term, weight }) => sum + weight * corpus.rarityOf(term), 0) *
  corpus.settings.exclusionCost

/**
 * Scores each document by the part of the query that it fits best, since a task of several steps needs a tool for each.
 */
function addParts({ query, found, scores, touched }: QueryWork, corpus: Corpus): void {
  const share = corpus.settings.partShare
  if (query.parts.length === 0 || share === 0) return
  const top = highest(scores, touched)
  const one = new Float64Array(corpus.size)
  const most = new Float64Array(corpus.size)
  for (const part of query.parts) {
    const own = query.terms.filter(({ term, of = term }) => part.has(term) || part.has(of))
    eachFit({ one, terms: weighed(own, found), corpus }, (document, fit) => {
      most[document] = Math.max(most[document] ?? 0, fit)
    })
  }
  for (const document of touched)
    scores[document] = (1 - share) * (scores[document] ?? 0) + share * top * (most[document] ?? 0)
}

/**
 * If two tools of one owner fit, that owner is probably the right one. Not more than two: owners with many tools would
 * win by size.
 */
function addOwners({ scores, touched }: QueryWork, { owners, settings, size }: Corpus): void {
  const share = settings.ownerShare
  if (share === 0) return
  const [first, second] = [new Float64Array(size), new Float64Array(size)]
  for (const document of touched) {
    const owner = owners.of(document)
    const score = scores[document] ?? 0
    const one = first[owner] ?? 0
    if (score > one) [first[owner], second[owner]] = [score, one]
    else if (score > (second[owner] ?? 0)) second[owner] = score
  }
  // The only tool of an owner counts twice, since a missing second tool is no point against it.
  const fitOf = (document: number): number => {
    const owner = owners.of(document)
    return (first[owner] ?? 0) + ((owners.isOnly(document) ? first : second)[owner] ?? 0)
  }
  const top = highest(scores, touched)
  const most = touched.reduce((sum, document) => Math.max(sum, fitOf(document)), 0) || 1
  for (const document of touched)
    scores[document] =
      (1 - share) * (scores[document] ?? 0) + (share * top * fitOf(document)) / most
}

/** Lifts tools that write or read the named kind of file, however little of the query they fit. */
function addFiles({ query, found, scores, touched }: QueryWork, corpus: Corpus): void {
  const top = corpus.settings.fileShare * highest(scores, touched)
  const one = new Float64Array(query.files.length > 0 ? corpus.size : 0)
  for (const file of query.files) {
    const asked = [...file].map(([term, weight]) => ({ term, weight }))
    eachFit({ one, terms: weighed(asked, found), corpus }, (document, fit) => {
      scores[document] = Math.max(scores[document] ?? 0, top * fit ** fileSlope)
    })
  }
}

function addNames(
  { query, scores, touched }: QueryWork,
  { nameOf, rarityOf, settings }: Corpus,
): void {
  const weights = new Map(query.terms.map(({ term, weight }) => [term, weight]))
  for (const document of best(scores, touched, maxNamed)) {
    let [all, own] = [0, 0]
    for (const term of nameOf(document)) {
      all += rarityOf(term)
      own += rarityOf(term) * (weights.get(term) ?? 0)
    }
    scores[document] = (scores[document] ?? 0) * (1 + (settings.nameGain * own) / (all || 1))
  }
}

interface Fitted {
  /** Zeros, before and after. */
  readonly one: Float64Array
  readonly terms: readonly WeighedTerm[]
  readonly corpus: Corpus
}

/**
 * How well each document fits some words, from 0 to 1 for the best. `tell` is called once for each document that has a
 * word.
 */
function eachFit(
  { one, terms, corpus }: Fitted,
  tell: (document: number, fit: number) => void,
): void {
  addScores(one, terms, corpus)
  let top = 0
  for (const { list } of terms)
    for (const { document } of list) top = Math.max(top, one[document] ?? 0)
  for (const { list } of terms) {
    for (const { document } of list) {
      const score = one[document] ?? 0
      if (score > 0) tell(document, score / top)
      one[document] = 0
    }
  }
}
