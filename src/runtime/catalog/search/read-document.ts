import type { ReadSearchDocument, SearchDocument } from '#contracts/search.ts'
import { createTermReader, isPair, queryTerms } from './words.ts'

/** The two sides of a description: the purpose of a tool, and its stated exclusions. */
interface SplitDescription {
  readonly positive: string
  readonly excluded: string
}

/**
 * Words that open an exclusion, up to the end of the sentence. Only words that tell the reader not to use the tool:
 * "does not need a key" and "not only" describe the tool itself.
 */
const opening =
  /\b(?:do\s+not|don['’]t|never)\s+use\b|(?<=^|[.;:!?,(\n] ?)(?:not\s+(?:for|intended\s+for|suitable\s+for|meant\s+for)\b)|\bshould\s+not\s+be\s+used\b/giu
/** A dot within a word (`plugin.yaml`, `3.5`) ends no sentence. */
const sentenceEnd = /[.!?;](?=\s|$)|\n\s*\n/gu

/** Linear in the text. */
export function splitExclusions(description: string): SplitDescription {
  const positive: string[] = []
  const excluded: string[] = []
  let at = 0
  for (const { index } of description.matchAll(opening)) {
    if (index < at) continue
    positive.push(description.slice(at, index))
    sentenceEnd.lastIndex = index
    const end = sentenceEnd.exec(description)
    at = end ? end.index + end[0].length : description.length
    excluded.push(description.slice(index, at))
  }
  positive.push(description.slice(at))
  return { positive: positive.join(' '), excluded: excluded.join(' ') }
}

/** The weight of a word in a field, and how much it lengthens the document. */
type FieldWeight = readonly [
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

/**
 * Reads documents, each word once: this takes nearly all the time of building an index. The Catalog's object stores the
 * result. So a change of the reading (words, stems, exclusions, fields and their weights) needs a step in
 * `src/compose/object-upgrades.ts` that has all tools read anew. A test detects such a change.
 */
export function createDocumentReader(
  fields: readonly FieldWeight[],
): (document: SearchDocument) => ReadSearchDocument {
  const termsOf = createTermReader()
  return (document) => {
    const { positive, excluded } = splitExclusions(document.description)
    const told = { ...document, description: positive }
    const counts = new Map<string, number>()
    let length = 0
    for (const [field, weight, lengthens] of fields) {
      const terms = termsOf(told[field] ?? '')
      length += terms.filter((term) => !isPair(term)).length * lengthens
      for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + weight)
    }
    return {
      id: document.id,
      owner: document.owner,
      length,
      terms: [...counts.keys()],
      counts: [...counts.values()],
      names: [...new Set(termsOf(document.name))],
      excluded:
        excluded === '' ? [] : [...queryTerms(excluded).keys()].filter((term) => !counts.has(term)),
    }
  }
}
