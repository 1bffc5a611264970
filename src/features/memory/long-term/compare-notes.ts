import type { WordReader } from './note-words.ts'

const differingShare = 0.5
/** A full stop, or an exclamation mark behind a letter: `5!` is another number. */
const endOfSentence =
  /(?:[.\u3002\uff0e\uff61\u0964\u0965\u06d4\u0589\u1362\u104b\u17d4]|(?<=[\p{L}\p{M}])[!\uff01])$/u

/** How a text compares with one that is kept. */
export type Comparison = 'same' | 'differs' | 'other'

/**
 * `same`: the same words in the same order, but for blanks, the end of the sentence and the case of its first letter. In
 * no language do other words, signs or another order say the same for sure, nor do other capitals: "the US team" and "the
 * us team" are two teams. `differs`: much the same words and yet not the same, which may
 * be a change or a contradiction.
 */
export function compareTexts(one: string, other: string, reader: WordReader): Comparison {
  if (plain(one) === plain(other)) return 'same'
  const [own, theirs] = [tellingOf(one, reader), tellingOf(other, reader)]
  const both = [...own].filter((word) => theirs.has(word)).length
  return both / (own.size + theirs.size - both || 1) < differingShare ? 'other' : 'differs'
}

const tellingOf = (text: string, { queryTerms }: WordReader): ReadonlySet<string> =>
  new Set(queryTerms(text).keys())

function plain(text: string): string {
  const said = text.normalize('NFC').replace(/\s+/gu, ' ').trim()
  const ended = said.replace(endOfSentence, '').trimEnd() || said
  return ended.replace(/^\p{L}/u, (first) => first.toLowerCase())
}
