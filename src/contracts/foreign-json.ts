import { headOf } from './cut.ts'
import type { Json, JsonObject } from './json.ts'

/**
 * The same text with LF at the end of each line, whatever it had, piece by piece: a CRLF may lie across two. Parsers of
 * server-sent events look for CR and LF from each line on, which takes quadratic time where a stream has few of one.
 */
export function createLineFeeds(): (piece: string) => string {
  const before = { isReturn: false }
  return (piece) => {
    if (piece === '') return ''
    const text = before.isReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    before.isReturn = piece.endsWith('\r')
    return text.replace(/\r\n?/g, '\n')
  }
}

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

export type ForeignFields = Readonly<Record<string, unknown>>

/** Whether this is a JSON object. */
export const isFields = (value: unknown): value is ForeignFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Levels of a call's arguments: code that walks them calls itself, and its stack is finite. */
const maxDepth = 100
const maxRawChars = 8_000

/**
 * The arguments of a call, from a model or from a client that reports its calls. They are an object, or its JSON.
 * Many models spell a call without arguments as nothing at all. Any other value becomes `{ "": raw }`, which every
 * tool refuses: it goes back to the model with each turn, so only the start of a long value is stored.
 */
export function toCallInput(given: Json | undefined): JsonObject {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'string') return isObject(given) ? given : { '': given }
  const text = unwrapped(given)
  if (text === '' || text === 'null') return {}
  try {
    // JSON.parse makes JSON only.
    const value = parseForeignJson(text) as Json
    if (isObject(value) && !isDeeperThan(maxDepth, value)) return value
    // Some services write the text of the JSON as JSON once more.
    if (typeof value === 'string' && value.trim().startsWith('{')) return toCallInput(value)
  } catch {
    // Falls through: the raw text says more to the model than our parser's complaint.
  }
  return notAnObject(given)
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Without the code fence that some models put around it. */
const unwrapped = (json: string): string =>
  json
    .trim()
    .replace(/^```[a-z]*\s/i, '')
    .replace(/```$/, '')
    .trim()

/** Arguments that cannot be read, in the form of `toCallInput`. */
export const notAnObject = (raw: string): JsonObject => ({
  '': (raw.length <= maxRawChars
    ? raw
    : `${headOf(raw, maxRawChars)}… (${raw.length} characters in all)`
  ).toWellFormed(),
})

const isDeeperThan = (levels: number, value: Json): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part: Json) => isDeeperThan(levels - 1, part)))
