/**
 * At most so much of the beginning of a text. A character of two halves stays whole or is left out: a text with one
 * half cannot be sent as UTF-8, and servers refuse it (so does our own API, when a client sends a compaction back).
 */
export const headOf = (text: string, maxChars: number): string => {
  const chars = Math.floor(maxChars)
  return text.slice(0, isBetweenHalves(text, chars) ? chars - 1 : chars)
}

/** A text of at most so many characters: of a longer one the beginning, and an ellipsis. */
export const shortened = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${headOf(text, maxChars - 1)}…` : text

/** The same of its end. */
export const tailOf = (text: string, maxChars: number): string => {
  const from = Math.max(0, text.length - Math.floor(maxChars))
  return text.slice(isBetweenHalves(text, from) ? from + 1 : from)
}

const isBetweenHalves = (text: string, at: number): boolean =>
  /[\ud800-\udbff]/.test(text.charAt(at - 1)) && /[\udc00-\udfff]/.test(text.charAt(at))
