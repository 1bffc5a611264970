import type { ReadSearchDocument } from '#contracts/search.ts'
import { createPostings, type Posting } from './postings.ts'
import type { RankSettings } from './settings.ts'

/** FTS5's own constants. */
const k1 = 1.2
const b = 0.75

/** All documents, in the form in which they are ranked. */
export interface Corpus {
  readonly settings: RankSettings
  readonly size: number
  readonly postingsOf: (term: string) => readonly Posting[]
  readonly rarityOf: (term: string) => number
  /** BM25 of one occurrence for a word that counts one. */
  readonly gainOf: (posting: Posting) => number
  readonly nameOf: (document: number) => Iterable<string>
  /** Documents that say they are not for a term. */
  readonly excluding: (term: string) => ReadonlySet<number>
  readonly owners: Owners
}

export interface Owners {
  /** The number of a document's owner. A document without an owner is its own. */
  readonly of: (document: number) => number
  /** Whether this document is its owner's only one. */
  readonly isOnly: (document: number) => boolean
}

const none: readonly Posting[] = []
const nobody: ReadonlySet<number> = new Set()

export function createCorpus(
  documents: readonly ReadSearchDocument[],
  settings: RankSettings,
): Corpus {
  const { byTerm, exclusions } = createPostings(documents)
  const size = documents.length
  const averageLength = documents.reduce((sum, { length }) => sum + length, 0) / (size || 1) || 1
  const norms = documents.map(({ length }) => k1 * (1 - b + (b * length) / averageLength))
  const postingsOf = (term: string): readonly Posting[] => byTerm.get(term) ?? none
  return {
    settings,
    size,
    postingsOf,
    rarityOf(term) {
      const count = postingsOf(term).length
      return Math.log(1 + (size - count + 0.5) / (count + 0.5))
    },
    gainOf: ({ document, frequency }) =>
      (frequency * (k1 + 1)) / (frequency + (norms[document] ?? k1)),
    nameOf: (document) => documents[document]?.names ?? [],
    excluding: (term) => exclusions.get(term) ?? nobody,
    owners: toOwners(documents),
  }
}

function toOwners(documents: readonly ReadSearchDocument[]): Owners {
  const numbers = new Map<string, number>()
  const counts: number[] = []
  const owners = documents.map(({ owner }, index) => {
    const key = owner === '' ? `#${index}` : owner
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    counts[number] = (counts[number] ?? 0) + 1
    return number
  })
  const of = (document: number): number => owners[document] ?? 0
  return { of, isOnly: (document) => counts[of(document)] === 1 }
}
