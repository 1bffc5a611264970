import type { ForgottenText } from '#contracts/forgotten-text.ts'

/** What stands in the place of what was forgotten. */
const gone = '[forgotten]'
/** So many words in a row are somebody's sentence. */
const inARow = 5
/** A shorter text alone is anybody's: it goes where it is all that is said. */
const leastChars = 8

/** Words in the order in which they are; what JSON writes for a line's end is no part of one. */
const wordsIn = (text: string) =>
  [...text.matchAll(/\\[nrt]|[\p{L}\p{N}]+/gu)]
    .filter(([word]) => !word.startsWith('\\'))
    .map((match) => ({
      word: match[0].toLowerCase(),
      from: match.index,
      to: match.index + match[0].length,
    }))

/**
 * Takes some texts out of others: also where they are cut, or their lines are broken otherwise. Of a longer one every
 * five words in a row go, of a shorter one all of its words together.
 */
export function createWithoutWords(texts: readonly ForgottenText[]): (text: string) => string {
  const rows = new Map<string, number>()
  const short: string[] = []
  const whole = new Set<string>()
  for (const text of texts) {
    if (typeof text === 'object') {
      whole.add(text.whole.trim())
      continue
    }
    const words = wordsIn(text).map(({ word }) => word)
    const most = Math.min(inARow, words.length)
    if (most < 3) short.push(text.trim())
    else
      for (let at = 0; at + most <= words.length; at += 1)
        rows.set(words.slice(at, at + most).join(' '), most)
  }
  const lengths = [...new Set(rows.values())]
  return (text) => {
    if (whole.has(text.trim())) return gone
    let left = text
    for (const one of short)
      if (one !== '' && (one.length >= leastChars || text.trim() === one))
        left = left.replaceAll(one, gone)
    if (lengths.length === 0) return left
    const words = wordsIn(left)
    const isGone = new Set<number>()
    for (const most of lengths)
      for (let at = 0; at + most <= words.length; at += 1) {
        const row = words.slice(at, at + most).map(({ word }) => word)
        if (rows.get(row.join(' ')) === most) row.forEach((_, of) => isGone.add(at + of))
      }
    // From the end, so that places before stay what they are.
    for (let at = words.length - 1; at >= 0; at -= 1) {
      if (!isGone.has(at)) continue
      const { to } = words[at]!
      while (isGone.has(at - 1)) at -= 1
      left = left.slice(0, words[at]!.from) + gone + left.slice(to)
    }
    return left
  }
}
