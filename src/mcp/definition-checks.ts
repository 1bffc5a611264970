import type { Json, JsonObject } from '#contracts/json.ts'
import { headerProblem, isObject } from './header-checks.ts'

/** What a server may say of itself. More is refused: that one thing only, the rest goes on. */
export const listingCaps = {
  maxItems: 500,
  maxPages: 50,
  maxNameChars: 200,
  maxUriChars: 2_048,
  maxDescriptionChars: 8_000,
  maxInstructionsChars: 16_000,
  maxSchemaChars: 64_000,
  maxSchemaDepth: 24,
  maxPropertyChars: 200,
} as const

/** Characters that nobody sees: what is shown to an operator must be all that a model would read. */
const invisible =
  /(?!\n|\r|\t|\u200c|\u200d|\ufe0f)(?:[\p{Cc}\p{Cf}]|\p{Variation_Selector}|\u115f|\u1160|\u3164|\uffa0)/u

/** Opened by a client these run or show what is in them: they name nothing at a server. */
const harmfulScheme = /^(javascript|vbscript|data):/i

/** What a client that fills in variables or leaves out blanks would open. */
function isHarmfulUri({ uri, uriTemplate = uri }: JsonObject): boolean {
  const opened = String(uriTemplate ?? '').replace(/\{[^{}]*\}|[\s\p{Cc}]/gu, '')
  return harmfulScheme.test(opened)
}

/** Whether there is anything in it, also in the names of its fields, that nobody can see. */
export const hasInvisible = (json: JsonObject): boolean => invisible.test(unescaped(json))

/** Why this definition cannot be approved; `undefined` if it can. */
export function whyRefused(definition: JsonObject): string | undefined {
  const text = JSON.stringify(definition)
  if (hasInvisible(definition)) return 'has characters that nobody can see'
  if (isHarmfulUri(definition)) return 'has a URI that could harm whoever opens it'
  if (hasLongName(definition))
    return `has a property with a name of more than ${listingCaps.maxPropertyChars} characters`
  for (const field of ['title', 'description'] as const) {
    const value = definition[field]
    if (typeof value === 'string' && value.length > listingCaps.maxDescriptionChars)
      return `its ${field} is longer than ${listingCaps.maxDescriptionChars} characters`
  }
  if (text.length > 2 * listingCaps.maxSchemaChars) return 'is larger than 128,000 characters'
  return (
    schemaProblem('inputSchema', definition['inputSchema']) ??
    schemaProblem('outputSchema', definition['outputSchema']) ??
    headerProblem(definition['inputSchema'])
  )
}

function schemaProblem(which: string, schema: Json | undefined): string | undefined {
  if (schema === undefined) return undefined
  if (!isObject(schema)) return `its ${which} is not an object`
  if (which === 'inputSchema' && schema['type'] !== 'object')
    return `its ${which} is not of type object`
  if (JSON.stringify(schema).length > listingCaps.maxSchemaChars)
    return `its ${which} is larger than ${listingCaps.maxSchemaChars} characters`
  return nodeProblem(which, schema, 0)
}

function nodeProblem(which: string, node: Json, depth: number): string | undefined {
  if (depth > listingCaps.maxSchemaDepth)
    return `its ${which} is nested deeper than ${listingCaps.maxSchemaDepth} levels`
  if (Array.isArray(node)) return first(node, (one) => nodeProblem(which, one, depth + 1))
  if (!isObject(node)) return undefined
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const ref = node[keyword]
    if (typeof ref === 'string' && !ref.startsWith('#'))
      return `its ${which} refers to a schema elsewhere`
  }
  return first(Object.values(node), (one) => nodeProblem(which, one, depth + 1))
}

function first<T>(values: readonly T[], ask: (value: T) => string | undefined): string | undefined {
  for (const value of values) {
    const found = ask(value)
    if (found !== undefined) return found
  }
  return undefined
}

const hasLongName = (value: Json): boolean =>
  Array.isArray(value)
    ? value.some(hasLongName)
    : isObject(value) &&
      Object.entries(value).some(
        ([name, part]) => name.length > listingCaps.maxPropertyChars || hasLongName(part),
      )

/** All texts of a definition, names of properties too. */
function unescaped(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(unescaped).join(' ')
  if (!isObject(value)) return ''
  return Object.entries(value)
    .map(([name, part]) => `${name} ${unescaped(part)}`)
    .join(' ')
}
