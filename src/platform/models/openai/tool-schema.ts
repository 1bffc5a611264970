import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'

/**
 * A tool's schema in the form of strict services: an object with `properties` at the top, lists with `items`, no
 * `null`. A call's arguments are checked by the tool's own schema, not by this one.
 */
export function toStrictSchema(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, ...rest } = strictInside(schema, 0) as JsonObject
  const { anyOf, oneOf, allOf, not: _not, enum: _enum, type: _type, ...plain } = rest
  const branches = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  const properties = [...branches, rest].map((part) => objectIn(objectIn(part).properties))
  const { required } = plain
  // Which of them belong together cannot be said: only what all of them need is needed.
  const isOpen = branches.length > 0 && allOf === undefined && !Array.isArray(required)
  return {
    ...plain,
    type: 'object',
    properties: Object.assign({}, ...properties) as JsonObject,
    ...(!isOpen && requiredOf(allOf, required)),
  }
}

function requiredOf(allOf: Json | undefined, own: Json | undefined): { readonly required?: Json } {
  const lists = [...(Array.isArray(allOf) ? allOf.map((one) => objectIn(one).required) : []), own]
  const names = lists.flatMap((list) => (Array.isArray(list) ? list : []))
  return names.length > 0 ? { required: [...new Set(names)] } : {}
}

/** A schema stays unchanged below this depth. */
const maxDepth = 50
const ofSchemas = new Set(['properties', '$defs', 'definitions', 'patternProperties'])
const ofLists = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const ofOne = new Set(['items', 'additionalProperties', 'not'])

function strictInside(schema: Json, depth: number): Json {
  if (schema === true) return {}
  if (!isObject(schema) || depth > maxDepth) return schema
  const parts = Object.entries(schema).flatMap(([name, value]): [string, Json][] => {
    // Only a value may be `null`, as programs write lists and tables that have nothing in them.
    if (value === null && !['const', 'default', 'example'].includes(name)) return []
    return [[name, strictPart(name, value, depth + 1)]]
  })
  const strict = Object.fromEntries(parts) as JsonObject
  const isList =
    strict.type === 'array' || (Array.isArray(strict.type) && strict.type.includes('array'))
  return isList && strict.items === undefined ? { ...strict, items: {} } : strict
}

function strictPart(name: string, value: Json, depth: number): Json {
  if (ofSchemas.has(name) && isObject(value)) {
    const parts = Object.entries(value).map(([key, one]) => [key, strictInside(one, depth)])
    return Object.fromEntries(parts) as JsonObject
  }
  if (ofLists.has(name) && Array.isArray(value)) return value.map((one) => strictInside(one, depth))
  const isSchema = ofOne.has(name) && !(name === 'additionalProperties' && value === true)
  return isSchema ? strictInside(value, depth) : value
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const objectIn = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
