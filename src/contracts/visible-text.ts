import type * as z from 'zod'

/** The first answer that is not `undefined`. */
export const first = <T, Found = string>(
  values: readonly T[],
  ask: (value: T) => Found | undefined,
): Found | undefined =>
  values.reduce<Found | undefined>((found, value) => found ?? ask(value), undefined)

/**
 * Characters that a reader does not see, or that move what stands beside them: controls, bidi, tags, zero width,
 * fillers, blanks but one.
 */
const hidden =
  '[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Variation_Selector}\\p{Default_Ignorable_Code_Point}' +
  '\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000\\u2800]'
// Shown as codes too: letters that no alphabet has.
const eachHidden = new RegExp(`${hidden}|\\p{C}`, 'gu')

/** Scripts in which a joiner after a letter changes what is seen, such as Persian and Hindi. */
const joiningScripts =
  'Arabic Syriac Mongolian Nko Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu ' +
  'Kannada Malayalam Sinhala Myanmar Khmer Tibetan'
const joiningLetter = `[${joiningScripts.replace(/\w+/g, '\\p{Script=$&}').replaceAll(' ', '')}]`

/** Joiners and emoji selectors where they do something. Anywhere else, and several in a row, they only hide. */
const joined = [
  `(?<=${joiningLetter}\\p{M}*)[\\u200c\\u200d]`,
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})',
  '(?<=\\p{Extended_Pictographic})\\ufe0f',
  // Keycaps.
  '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
  // The blank of these scripts: as wide as a letter.
  '(?<=[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}])\\u3000',
].join('|')
/** Breaks, tabs and blanks: a text may have these, a name may not. */
const ofTexts = '[\\n\\r\\t\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]'

// Half of a character is not shown.
const inLines = new RegExp(`(?!${joined})${hidden}|\\p{Cs}`, 'u')
const inTexts = new RegExp(`(?!${joined}|${ofTexts})${hidden}|\\p{Cs}`, 'u')
const eachInTexts = new RegExp(`(?!${joined}|${ofTexts})${hidden}`, 'gu')

/** `line`: a name, a host. `text`: may have several lines. */
type TextForm = 'line' | 'text'

/** The first hidden character of a text, or half of one, as words for an error; `undefined` if there is none. */
export function hiddenProblem(text: string, form: TextForm): string | undefined {
  const at = firstHidden(text, form)
  if (at === undefined) return undefined
  const code = text.codePointAt(at)!.toString(16).toUpperCase().padStart(4, '0')
  const before = text.slice(0, at)
  const place = `at character ${Array.from(before).length + 1}`
  return /[\n\r\t]/.test(text[at]!)
    ? `must be one line: it has a break or a tab (U+${code}) ${place}`
    : `has a character that nobody can see, U+${code}, ${place}`
}

/** Where the first of them is, as an index of the text. */
export function firstHidden(text: string, form: TextForm): number | undefined {
  const at = text.search(form === 'line' ? inLines : inTexts)
  return at < 0 ? undefined : at
}

/** A hidden character in a JSON value, with the path to it. */
export interface HiddenPart {
  readonly path: readonly (string | number)[]
  readonly problem: string
}

/**
 * The first text of a JSON value that hides something, names of properties included.
 *
 * @param texts Fields whose texts may have lines, with all that is in them.
 */
export function hiddenPart(
  value: unknown,
  texts: ReadonlySet<string>,
  form: TextForm = 'line',
): HiddenPart | undefined {
  if (typeof value === 'string') {
    const problem = hiddenProblem(value, form)
    return problem === undefined ? undefined : { path: [], problem }
  }
  if (typeof value !== 'object' || value === null) return undefined
  const isList = Array.isArray(value)
  return first(Object.entries(value), ([name, part]): HiddenPart | undefined => {
    const inName = isList ? undefined : hiddenProblem(name, 'line')
    if (inName !== undefined) return { path: [toVisible(name)], problem: `its name ${inName}` }
    const found = hiddenPart(part, texts, !isList && texts.has(name) ? 'text' : form)
    return found && { ...found, path: [isList ? Number(name) : name, ...found.path] }
  })
}

/** A check of a schema that refuses what `hiddenPart` finds, at its place. */
export const refuseHidden =
  (form: TextForm, texts: ReadonlySet<string> = new Set()) =>
  (value: unknown, context: z.RefinementCtx): void => {
    const found = hiddenPart(value, texts, form)
    if (found) context.addIssue({ code: 'custom', path: [...found.path], message: found.problem })
  }

/**
 * One line in which every character is visible: hidden characters are written as their codes. Two different texts
 * never look alike.
 */
export const toVisible = (text: string): string => withCodes(text.replaceAll('\\', '\\\\'))

/** The same of a text whose backslashes are doubled already, such as JSON. */
export const withCodes = (text: string): string => text.replace(eachHidden, codeOf)

/** A text of several lines with codes for what hides. Joiners and blanks stay where a text may have them. */
export const linesWithCodes = (text: string): string => text.replace(eachInTexts, codeOf)

/** JSON of the same meaning in which every character is visible: hidden characters are escaped in JSON's own way. */
export const jsonWithCodes = (json: string): string =>
  json.replace(eachInTexts, (char) =>
    char
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )

const codeOf = (char: string): string => `\\u{${char.codePointAt(0)!.toString(16)}}`
