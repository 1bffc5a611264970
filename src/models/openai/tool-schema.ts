import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { isObject } from './said-json.ts'

/** Whoever breaks one of these is told when the call is checked; every request would carry them. */
const unsaid = new Set(['$schema', 'minLength', 'maxLength'])
/** Members that hold a schema, or a list of them. */
const schemas = new Set([
  ...['items', 'prefixItems', 'additionalProperties', 'contains', 'not'],
  ...['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else'],
])
/** Members that hold schemas by name. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** A tool's input schema as a model reads it: without what tells it nothing. The call is checked by the whole. */
export function toModelSchema(schema: JsonSchema): JsonSchema {
  const said = Object.entries(schema).filter(
    ([key, value]) => !unsaid.has(key) && !(key === 'additionalProperties' && value === false),
  )
  return Object.fromEntries(
    said.map(([key, value]) => {
      if (schemas.has(key)) return [key, within(value)]
      if (!named.has(key) || !isPlain(value)) return [key, value]
      return [key, mapped(value, within)]
    }),
  )
}

function within(value: Json): Json {
  if (Array.isArray(value)) return value.map(within)
  return isPlain(value) ? toModelSchema(value) : value
}

const isPlain = (value: Json): value is JsonObject => isObject(value) && !Array.isArray(value)

const mapped = (object: JsonObject, change: (value: Json) => Json): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
