import type { JsonObject, Json } from '#contracts/json.ts'
import { first } from '#contracts/definition-rules.ts'

/** What plugins and remote servers may say of themselves to a person and a model. */
export const definitionCaps = {
  maxSchemaChars: 64_000,
  maxSchemaDepth: 24,
  maxPropertyChars: 200,
} as const

/** Opened by a client these run or show what is in them: they name nothing at a server. */
const harmfulScheme = /^(javascript|vbscript|data):/i

/** What a client that fills in variables or leaves out blanks would open. */
export const isHarmfulUri = (uri: string): boolean =>
  harmfulScheme.test(uri.replace(/\{[^{}]*\}|[\s\p{Cc}]/gu, ''))

/** Why nobody could read and approve a schema, or a validator could not take it; `undefined` if they can. */
export function schemaProblem(which: string, schema: JsonObject): string | undefined {
  if (JSON.stringify(schema).length > definitionCaps.maxSchemaChars)
    return `its ${which} is larger than ${definitionCaps.maxSchemaChars} characters`
  return nodeProblem(which, schema, 0)
}

function nodeProblem(which: string, node: Json, depth: number): string | undefined {
  if (depth > definitionCaps.maxSchemaDepth)
    return `its ${which} is nested deeper than ${definitionCaps.maxSchemaDepth} levels`
  if (Array.isArray(node)) return first(node, (one) => nodeProblem(which, one, depth + 1))
  if (!isObject(node)) return undefined
  if (['$ref', '$dynamicRef', '$recursiveRef'].some((keyword) => isElsewhere(node[keyword])))
    return `its ${which} refers to a schema elsewhere`
  return first(Object.values(node), (one) => nodeProblem(which, one, depth + 1))
}

const isElsewhere = (ref: Json | undefined) => typeof ref === 'string' && !ref.startsWith('#')

/** Whether a property has a name that nobody reads to its end. */
export const hasLongName = (value: Json): boolean =>
  Array.isArray(value)
    ? value.some(hasLongName)
    : isObject(value) &&
      Object.entries(value).some(
        ([name, part]) => name.length > definitionCaps.maxPropertyChars || hasLongName(part),
      )

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
