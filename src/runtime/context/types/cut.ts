import { headOf, tailOf } from '#contracts/cut.ts'

/** The beginning and the end, where it is longer. */
export const bothEnds = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const head = Math.floor((maxChars * 3) / 4)
  return `${headOf(text, head)} … ${tailOf(text, maxChars - head)}`
}
