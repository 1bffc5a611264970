import { fieldsOf } from './types.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { McpItemKind } from '#runtime/catalog/types/mcp.ts'

/** The fields that are pinned, each kind's own; other fields of a server are not read. */
const fields: Readonly<Record<McpItemKind, readonly string[]>> = {
  tool: ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'],
  resource: ['uri', 'name', 'title', 'description', 'mimeType'],
  template: ['uriTemplate', 'name', 'title', 'description', 'mimeType'],
  prompt: ['name', 'title', 'description', 'arguments'],
  instructions: ['text'],
}

/**
 * The definition of one entry of a list, of the fields that its kind has. A null is absent, and so is an empty list
 * where
 * an object belongs: some languages write both for nothing.
 *
 * @returns A text if it cannot be read: why.
 */
export function readDefinition(kind: McpItemKind, value: unknown): JsonObject | string {
  // Parsed from JSON before.
  const given = fieldsOf(value) as JsonObject
  const definition: Record<string, Json> = {}
  for (const field of fields[kind]) {
    const part = given[field]
    if (part === undefined) continue
    const read = readers[field]?.(part) ?? readText(part)
    if ('why' in read) return `its ${field} ${read.why}`
    if (read.value !== undefined) definition[field] = read.value
  }
  if (kind === 'tool') definition['inputSchema'] ??= { type: 'object' }
  return definition
}

type Read = { readonly value: Json | undefined } | { readonly why: string }

const isNothing = (value: Json): boolean =>
  value === null || (Array.isArray(value) && value.length === 0)

const readText = (value: Json): Read =>
  typeof value === 'string' ? { value } : { why: 'is not a text' }

function readObject(value: Json): Read {
  if (isNothing(value)) return { value: undefined }
  return isFields(value) ? { value: fieldsOf(value) as JsonObject } : { why: 'are not an object' }
}

function readArguments(value: Json): Read {
  if (!Array.isArray(value)) return { why: 'are not a list' }
  const all = value.map((one: Json) => fieldsOf(one) as JsonObject)
  return all.every(({ name }) => typeof name === 'string')
    ? { value: all }
    : { why: 'have one without a name' }
}

/** Arguments are always an object: a schema that says nothing takes any. */
function readInputSchema(value: Json): Read {
  const schema = value === true || isNothing(value) ? {} : readSchema(value)
  if (!isFields(schema)) return { value: schema }
  const { type = 'object' } = schema as JsonObject
  const isObject = Array.isArray(type) && type.includes('object')
  return { value: { ...(schema as JsonObject), type: isObject ? 'object' : type } }
}

const readOutputSchema = (value: Json): Read => ({
  value: value === true || isNothing(value) ? undefined : readSchema(value),
})

const readers: Readonly<Record<string, (value: Json) => Read>> = {
  inputSchema: readInputSchema,
  outputSchema: readOutputSchema,
  annotations: readObject,
  arguments: readArguments,
}

/** Keywords whose values may be null. */
const values: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', 'example'])
const maps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])

/** A schema without keywords that are null. */
function readSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map((one: Json) => readSchema(one))
  if (!isFields(node)) return node
  const parts = Object.entries(node as JsonObject).flatMap(([key, part]): [string, Json][] => {
    if (values.has(key)) return [[key, part]]
    if (part === null) return []
    return [[key, maps.has(key) ? readMap(part) : readSchema(part)]]
  })
  return Object.fromEntries(parts)
}

/** Schemas by their names: `null` in place of a schema takes anything. */
function readMap(map: Json): Json {
  if (isNothing(map)) return {}
  if (!isFields(map)) return map
  const named = Object.entries(map as JsonObject)
  return Object.fromEntries(
    named.map(([key, part]) => [key, part === null ? {} : readSchema(part)]),
  )
}
