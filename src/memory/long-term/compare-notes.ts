import type { WordReader } from './note-words.ts'

/** What turns a sentence into its opposite. */
const denials: ReadonlySet<string> = new Set(
  'not no never none nobody nothing without t cannot neither nor kein keine nicht nie'.split(' '),
)
const sameShare = 0.8
const differingShare = 0.5

/** How a text compares with one that is kept. */
export type Comparison = 'same' | 'differs' | 'other'

/**
 * `same`: one says all that the other says, in much the same words, with the same numbers and as much denied; then the
 * longer one will do. `differs`: much the same words and yet not the same, which may be a change or a contradiction.
 */
export function compareTexts(one: string, other: string, reader: WordReader): Comparison {
  const [own, theirs] = [tellingOf(one, reader), tellingOf(other, reader)]
  const both = [...own].filter((word) => theirs.has(word)).length
  const share = both / (own.size + theirs.size - both || 1)
  if (share < differingShare) return 'other'
  const isWithin = both === own.size || both === theirs.size
  return isWithin && share >= sameShare && marksOf(one) === marksOf(other) ? 'same' : 'differs'
}

const tellingOf = (text: string, { queryTerms }: WordReader): ReadonlySet<string> =>
  new Set(queryTerms(text).keys())

/** Its numbers and denials. */
const marksOf = (text: string): string =>
  (text.toLowerCase().match(/\p{N}+|\p{L}+/gu) ?? [])
    .filter((word) => /^\p{N}/u.test(word) || denials.has(word))
    .join(' ')
