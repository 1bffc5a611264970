import { headOf } from '#contracts/cut.ts'

/** At most so many characters; of what is longer the start, and how long it is. */
export const capped = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : `${headOf(text, maxChars)}… (${text.length} characters in all)`
