import type { JsonObject } from '#contracts/json.ts'
import type { SchemaValidator } from '#contracts/tool.ts'

/**
 * Validates the input of a call. Besides its schema: it is an object of its own, and each number in it is the one that was
 * sent; else a person approves, and the tool is given, another one.
 */
export const createInputValidator = (validator: SchemaValidator): SchemaValidator => ({
  validate(schema, input) {
    if (isNoObject(input)) return { ok: false, path: '', message: noObject }
    const path = inexactNumber(input)
    return path === undefined
      ? validator.validate(schema, input)
      : { ok: false, path, message: inexact }
  },
})

const noObject = 'is no JSON object: send arguments by their names, as in {"name": "value"}'
const inexact =
  'is a number that cannot be kept exactly: send it as text, in quotes, if the tool takes that, or one of at most 9007199254740991'

/** What is no object arrives as `{ "": raw }` (`ToolCall`). */
function isNoObject(input: unknown): boolean {
  const [only, ...others] = Object.keys(input as JsonObject)
  return only === '' && others.length === 0
}

/**
 * Where a value has a number that is not the one that was sent: a whole one beyond 2^53 is rounded by whoever reads it,
 * and one beyond all numbers is none. As in `items[2].id`; `undefined` if there is none.
 */
function inexactNumber(value: unknown, place = ''): string | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
      ? undefined
      : place
  if (typeof value !== 'object' || value === null) return undefined
  const isList = Array.isArray(value)
  return Object.entries(value).reduce<string | undefined>(
    (found, [name, part]) =>
      found ??
      inexactNumber(part, isList ? `${place}[${name}]` : place === '' ? name : `${place}.${name}`),
    undefined,
  )
}
