import type { Corpus } from './corpus.ts'
import { postingOf, type Posting } from './postings.ts'
import type { QueryTerm, ReadQuery } from './query.ts'
import { addScores, best, type WeighedTerm } from './scores.ts'

interface FoundTerm {
  readonly list: readonly Posting[]
  readonly rarity: number
}
export type FoundTerms = ReadonlyMap<string, FoundTerm>

export interface LookedUp {
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
