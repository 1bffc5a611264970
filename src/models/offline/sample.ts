import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { isJsonObject, parametersOf, typeOf } from './schema-shape.ts'

const maxDepth = 8

/** A value that fits the schema as far as such a simple reading goes; its texts say `text`. */
export function sampleOf(schema: JsonSchema, text: string): Json {
  return sample(schema, { text, root: schema, depth: 0 })
}

interface Place {
  readonly text: string
  readonly root: JsonSchema
  readonly depth: number
}

function sample(asked: JsonSchema, place: Place): Json {
  const schema = resolved(asked, place.root)
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum[0]
  const inner = { ...place, depth: place.depth + 1 }
  const least = typeof schema.minimum === 'number' ? schema.minimum : 0
  switch (typeOf(schema)) {
    case 'object':
      return place.depth > maxDepth ? {} : sampleObject(schema, inner)
    case 'array':
      return listOf(schema, inner)
    case 'number':
    case 'integer':
      return least
    case 'boolean':
      return false
    case 'string':
    case 'any':
      return typeof schema.maxLength === 'number'
        ? place.text.slice(0, schema.maxLength)
        : place.text
  }
}

/** What a reference within the schema points at, and of alternatives the first that is not null. */
function resolved(schema: JsonSchema, root: JsonSchema, steps = 0): JsonSchema {
  const { $ref: pointer, anyOf, oneOf, type } = schema
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  const next =
    typeof pointer === 'string' && pointer.startsWith('#/')
      ? at(root, pointer.slice(2).split('/'))
      : type === undefined
        ? branches.find((branch) => isJsonObject(branch) && branch.type !== 'null')
        : undefined
  return isJsonObject(next) && steps < maxDepth ? resolved(next, root, steps + 1) : schema
}

function at(root: JsonSchema, path: readonly string[]): Json | undefined {
  let here: Json | undefined = root
  for (const key of path) {
    here = isJsonObject(here) && Object.hasOwn(here, key) ? here[key] : undefined
  }
  return here
}

function sampleObject(schema: JsonSchema, place: Place): JsonObject {
  return Object.fromEntries(
    parametersOf(schema)
      .filter(({ isRequired }) => isRequired)
      .map(({ name, schema: about }) => [name, sample(about, place)]),
  )
}

function listOf({ minItems, items }: JsonSchema, place: Place): readonly Json[] {
  const length = typeof minItems === 'number' ? Math.min(minItems, 10) : 0
  return Array.from({ length }, () =>
    isJsonObject(items) && place.depth <= maxDepth ? sample(items, place) : place.text,
  )
}
