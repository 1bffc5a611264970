import { headOf } from './cut.ts'
import { parseForeignJson } from './foreign-json.ts'
import type { Json, JsonObject } from './json.ts'

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
