import { headOf } from '#contracts/cut.ts'

/** At most so many characters: the start of a longer text, and how long the text is. */
export const capped = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : `${headOf(text, maxChars)}… (${text.length} characters in all)`
