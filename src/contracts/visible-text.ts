import { headOf } from './cut.ts'
/** Characters that nobody sees, or that move what stands beside them: controls, bidi, tags, zero width, fillers, blanks but one. */
const hidden =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u2800|\u3164|\uffa0/u
// Shown as codes too: letters that no alphabet has.
const eachHidden = new RegExp(`${hidden.source}|\\p{C}`, 'gu')

/** Breaks, tabs and blanks, and the joiners of emoji and of scripts that need them: a text may have these, a name may not. */
const ofTexts = /[\n\r\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|\u200c|\u200d|\ufe0f/gu

/** Whether a text that a person is shown has something that this person would not see. */
export const hasHidden = (text: string): boolean => hidden.test(text.replace(ofTexts, ''))

/** The same of what is one line, such as a name or a host. */
export const hasHiddenInLine = (text: string): boolean => hidden.test(text)

/** One line in which everything is seen: what hides is written as its code. Two texts never come out alike. */
export const toVisible = (text: string): string => withCodes(text.replaceAll('\\', '\\\\'))

/** The same of a text whose backslashes are doubled already, such as JSON. */
export const withCodes = (text: string): string =>
  text.replace(eachHidden, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)

/** At most so many characters; of what is longer the start, and how long it is. */
export const capped = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : `${headOf(text, maxChars)}… (${text.length} characters in all)`

/** All texts of a JSON value, names of properties too. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return Object.entries(value).flatMap(([name, part]) => [name, ...textsIn(part)])
}
