import type { ForgottenText } from '../types/forgotten-text.ts'

/** Replaces a forgotten text. */
const gone = '[forgotten]'
/** Words in a row that identify a text. */
const inARow = 5
/** A shorter text is common: it is removed only where it is the whole text. */
const leastChars = 8

/** The words of a text in their order; an escaped line end of JSON is no part of a word. */
const wordsIn = (text: string) =>
  [...text.matchAll(/\\[nrt]|[\p{L}\p{N}]+/gu)]
    .filter(([word]) => !word.startsWith('\\'))
    .map((match) => ({
      word: match[0].toLowerCase(),
      from: match.index,
      to: match.index + match[0].length,
    }))

/**
 * Removes texts from other texts, also if they were cut or have other line breaks: every five words in a row of a longer
 * text, all words together of a shorter one.
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
    // From the end, so that earlier places stay valid.
    for (let at = words.length - 1; at >= 0; at -= 1) {
      if (!isGone.has(at)) continue
      const { to } = words[at]!
      while (isGone.has(at - 1)) at -= 1
      left = left.slice(0, words[at]!.from) + gone + left.slice(to)
    }
    return left
  }
}
