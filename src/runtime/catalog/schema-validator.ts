import type { JsonObject, Json, JsonSchema } from '#contracts/json.ts'
import type { SchemaValidator, SchemaVerdict } from '#contracts/tool.ts'
import { evaluate } from './schema/evaluate.ts'
import { problemOf } from './schema/problem-text.ts'
import { SchemaProblem, toSafeSchema, type SafeSchema } from './schema/safe-schema.ts'
import { createWork, TooMuchWork } from './schema/visit.ts'

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
  'is a whole number beyond 9007199254740991, which may have been rounded when it was read: send it as text, ' +
  'in quotes, if the tool takes that'

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

const maxValueDepth = 200

/** A schema made ready: checked values use it, or the reason why it cannot be used. */
type Compiled =
  | { readonly ok: true; readonly safe: SafeSchema }
  | { readonly ok: false; readonly reason: string }

/**
 * Validates against JSON Schema (draft 2020-12, tolerating draft-07) without ever hanging: work is counted and
 * capped, `pattern` is not evaluated, `$ref` stays inside the schema. Never throws.
 *
 * What cannot be checked is refused (fail closed), with `path` empty and the reason in `message`. Compiled schemas
 * are cached by the schema object's identity, so keep and reuse it; the cache belongs to this validator.
 */
export function createSchemaValidator(): SchemaValidator {
  const cache = new WeakMap<JsonSchema, Compiled>()
  function compiled(schema: JsonSchema): Compiled {
    const known = cache.get(schema)
    if (known) return known
    const made = compile(schema)
    cache.set(schema, made)
    return made
  }

  return {
    validate(schema, value) {
      const ready = compiled(schema)
      if (!ready.ok) return refused(`the schema ${ready.reason}`)
      try {
        return check(ready.safe, value)
      } catch (error) {
        return refused(
          error instanceof TooMuchWork ? 'checking takes too much work' : 'the schema is broken',
        )
      }
    },
  }
}

const refused = (reason: string): SchemaVerdict => ({
  ok: false,
  path: '',
  message: `cannot be checked: ${reason}`,
})

function compile(schema: JsonSchema): Compiled {
  try {
    return { ok: true, safe: toSafeSchema(schema) }
  } catch (error) {
    return {
      ok: false,
      reason: error instanceof SchemaProblem ? error.message : 'is not a valid JSON Schema',
    }
  }
}

function check(safe: SafeSchema, value: Json): SchemaVerdict {
  if (isTooDeep(value)) return refused(`the value is nested deeper than ${maxValueDepth} levels`)
  const found = evaluate(safe, value, createWork())
  return found ? { ok: false, ...problemOf(found, safe.root) } : { ok: true }
}

function isTooDeep(value: Json, depth = 0): boolean {
  if (depth > maxValueDepth) return true
  if (typeof value !== 'object' || value === null) return false
  const parts: readonly Json[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => isTooDeep(part, depth + 1))
}
