import type { Json, JsonObject } from '#contracts/json.ts'
import { headOf } from '#contracts/cut.ts'
import { schemaFault, textsIn } from './types.ts'
import {
  definitionCaps,
  hasLongName,
  isHarmfulUri,
  schemaProblem,
} from '#features/plugins/types/definition-rules.ts'
import { hasHidden } from '#features/skills/types.ts'

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const key = 'x-mcp-header'

/**
 * Why a tool's arguments cannot be mirrored into headers as its schema asks; `undefined` if they can, or if it asks
 * for none. A client must leave such a tool out (2026-07-28, SEP-2243): a header name that is invalid, occurs twice,
 * or belongs to no argument of a plain type.
 */
function headerProblem(inputSchema: Json | undefined): string | undefined {
  const names = new Set<string>()
  const problem = (node: Json | undefined, isReachable: boolean): string | undefined => {
    if (Array.isArray(node)) return firstOf(node.map((part: Json) => [part, false] as const))
    if (!isObject(node)) return undefined
    const own = key in node ? whyNot(node, isReachable, names) : undefined
    if (own !== undefined) return own
    const parts = Object.entries(node).flatMap(([name, part]) =>
      name === 'properties' && isObject(part)
        ? Object.values(part).map((one) => [one, isReachable] as const)
        : data.has(name)
          ? []
          : [[part, false] as const],
    )
    return firstOf(parts)
  }
  const firstOf = (parts: readonly (readonly [Json, boolean])[]): string | undefined => {
    for (const [part, isReachable] of parts) {
      const found = problem(part, isReachable)
      if (found !== undefined) return found
    }
    return undefined
  }
  // The schema itself is no argument.
  return isObject(inputSchema) && key in inputSchema
    ? 'its inputSchema wants a header for no argument'
    : problem(inputSchema, true)
}

/** Keywords whose values are data, not schemas. */
const data: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required', key])

function whyNot(node: JsonObject, isReachable: boolean, names: Set<string>): string | undefined {
  const name = node[key]
  if (typeof name !== 'string' || !token.test(name))
    return 'wants a header with a name that is not valid'
  if (!isReachable) return 'wants a header for what is no argument of its own'
  if (!['string', 'integer', 'boolean'].includes(String(node['type'])))
    return 'wants a header for an argument that is not a text, an integer or a boolean'
  if (names.has(name.toLowerCase())) return 'wants one header for two arguments'
  names.add(name.toLowerCase())
  return undefined
}

/** Whether this is a JSON object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The most that a server may list. A larger entry is refused alone; the others stay. */
export const listingCaps = {
  maxItems: 500,
  maxPages: 50,
  maxNameChars: 200,
  maxUriChars: 2_048,
  maxDescriptionChars: 8_000,
  maxInstructionsChars: 16_000,
  ...definitionCaps,
} as const

/** Whether it has characters that a reader cannot see, also in the names of its fields. */
export const hasInvisible = (json: JsonObject): boolean => hasHidden(textsIn(json).join(' '))

/** Why this definition cannot be approved; `undefined` if it can. */
export function whyRefused(definition: JsonObject): string | undefined {
  const text = JSON.stringify(definition)
  if (hasInvisible(definition)) return 'has characters that nobody can see'
  const { uri, uriTemplate = uri } = definition
  if (isHarmfulUri(String(uriTemplate ?? ''))) return 'has a URI that could harm whoever opens it'
  if (hasLongName(definition))
    return `has a property with a name of more than ${listingCaps.maxPropertyChars} characters`
  for (const field of ['title', 'description'] as const) {
    const value = definition[field]
    if (typeof value === 'string' && value.length > listingCaps.maxDescriptionChars)
      return `its ${field} is longer than ${listingCaps.maxDescriptionChars} characters`
  }
  if (text.length > 2 * listingCaps.maxSchemaChars) return 'is larger than 128,000 characters'
  return (
    ownSchemaProblem('inputSchema', definition['inputSchema']) ??
    ownSchemaProblem('outputSchema', definition['outputSchema']) ??
    headerProblem(definition['inputSchema'])
  )
}

function ownSchemaProblem(which: string, schema: Json | undefined): string | undefined {
  if (schema === undefined) return undefined
  if (!isObject(schema)) return `its ${which} is not an object`
  if (which === 'inputSchema' && schema['type'] !== 'object')
    return `its ${which} is not of type object`
  return schemaProblem(which, schema) ?? shapeProblem(which, schema)
}

/** A model service refuses every request that has such a schema among its tools, whatever it asks. */
function shapeProblem(which: string, schema: JsonObject): string | undefined {
  const place = schemaFault(schema)
  if (place === undefined) return undefined
  return `its ${which} is no JSON Schema${place === '' ? '' : ` at ${headOf(place, 200)}`}`
}
