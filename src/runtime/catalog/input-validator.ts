import type { JsonObject } from '#contracts/json.ts'
import type { SchemaValidator } from '#contracts/tool.ts'

/**
 * Validates the input of a call. Besides the schema: the input is an object of its own, and every whole number in it is
 * the number that the model sent. Otherwise a person would approve one number, and the tool would get another.
 *
 * A parsed number does not show its text. So every whole number beyond 2^53 is refused, also a number that a double
 * holds exactly, such as 1700000000000000000: 1700000000000000001 is read as the same. Fractions are accepted as read,
 * with some 16 digits.
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
  'is a whole number beyond 9007199254740991, which may have been rounded when it was read: send it as text, in quotes, if the tool takes that'

/** Input that is no object arrives as `{ "": raw }` (`ToolCall`). */
function isNoObject(input: unknown): boolean {
  const [only, ...others] = Object.keys(input as JsonObject)
  return only === '' && others.length === 0
}

/**
 * The place of a number that may differ from the number that was sent: a whole number beyond 2^53, which readers of
 * JSON round, or a number beyond all doubles. As in `items[2].id`; `undefined` if there is none.
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
