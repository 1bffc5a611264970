import type { SearchDocument } from '#contracts/search.ts'

/** What a word counts in a field, and how much a word of it lengthens the document. */
export type FieldWeight = readonly [
  field: Exclude<keyof SearchDocument, 'id'>,
  weight: number,
  length: number,
]

/** How documents are ranked; the numbers are round, since tuning overfits (docs/decisions/0091). */
export interface RankSettings {
  readonly fields: readonly FieldWeight[]
  /** What a word counts that the query's word stands for. */
  readonly synonymWeight: number
  /** Share of the part that fits best in the score of a query of several; the rest is the whole query's. */
  readonly partShare: number
  /** Share of its owner in a document's score: how well the owner's two best documents fit. */
  readonly ownerShare: number
  /** What a document gains if the query has every word of its name. */
  readonly nameGain: number
  /** What answers a question about a file counts, against what answers the query best. */
  readonly fileShare: number
  /** What the words cost that a description says it is not for, against what a match of them would give. */
  readonly exclusionCost: number
  /** Rare words first, words are looked up until so many postings were read: it bounds a search. A text may cost more. */
  readonly maxPostings: { readonly question: number; readonly text: number }
  /** The other words are looked up only for so many documents, the best until then. */
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
