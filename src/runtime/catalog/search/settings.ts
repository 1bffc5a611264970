import type { SearchDocument } from '#contracts/search.ts'

/** The weight of a word in a field, and how much it lengthens the document. */
export type FieldWeight = readonly [
  field: Exclude<keyof SearchDocument, 'id'>,
  weight: number,
  length: number,
]

/** How documents are ranked; the numbers are round, since tuning overfits (docs/decisions/0091). */
export interface RankSettings {
  readonly fields: readonly FieldWeight[]
  /** The weight of a synonym. */
  readonly synonymWeight: number
  /** Share of the part that fits best in the score of a query of several; the rest is the whole query's. */
  readonly partShare: number
  /** Share of its owner in a document's score: how well the owner's two best documents fit. */
  readonly ownerShare: number
  /** The gain of a document if the query has every word of its name. */
  readonly nameGain: number
  /** The score of the best answer about a file, as a share of the best score. */
  readonly fileShare: number
  /** The cost of excluded words, relative to the gain of a match. */
  readonly exclusionCost: number
  /** The most postings that a search reads, rare words first: it bounds a search. A text may cost more. */
  readonly maxPostings: { readonly question: number; readonly text: number }
  /** The other words are looked up only for this many of the best documents. */
  readonly completed: number
}

/** The ranking of a fresh deployment. */
export const shippedRanking: RankSettings = {
  fields: [
    ['name', 3, 1],
    ['owner', 1, 1],
    ['description', 1, 1],
    ['parameters', 0.5, 0.3],
    ['ownerDescription', 0.5, 0.3],
    ['body', 0.3, 0.1],
  ],
  synonymWeight: 0.5,
  partShare: 0.4,
  ownerShare: 0.4,
  nameGain: 0.2,
  fileShare: 0.9,
  exclusionCost: 0.5,
  maxPostings: { question: 2_000, text: 4_000 },
  completed: 400,
}
