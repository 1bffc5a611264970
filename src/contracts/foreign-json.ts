/** Pairs stay, a lone half does not; other escapes are skipped, so that none is read from its middle. */
const escapes =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})|\\[^]/g
const mayHaveHalves = /\\u[dD][89a-fA-F]/

/**
 * The text of JSON from outside, with U+FFFD for each lone half of a surrogate pair, in texts and in names. UTF-8 has
 * no form for a half: such a text cannot be stored or sent on, and a strict server refuses every later turn for it.
 * In JSON a
 * half can only be written as an escape, so nothing is parsed for this.
 */
export const wellFormedJson = (text: string): string =>
  mayHaveHalves.test(text)
    ? text.replace(escapes, (found, half?: string) => (half === undefined ? found : '\\ufffd'))
    : text

/** Parses JSON from outside, with every text in it well-formed. Throws as `JSON.parse` does. */
export const parseForeignJson = (text: string): unknown => JSON.parse(wellFormedJson(text))

export type Fields = Readonly<Record<string, unknown>>

/** Whether this is a JSON object. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
