import { headOf } from '#contracts/cut.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { schemaFault } from './types.ts'
import {
  definitionCaps,
  hasLongName,
  isHarmfulUri,
  schemaProblem,
} from '#features/plugins/types/definition-rules.ts'
import { hasHidden } from '#features/skills/types.ts'
import { textsIn } from './types.ts'
import { headerProblem, isObject } from './header-checks.ts'

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
