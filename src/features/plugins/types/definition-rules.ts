import type { JsonObject, Json } from '#contracts/json.ts'
import { first } from '#contracts/visible-text.ts'
import { isFields } from '#contracts/foreign-json.ts'

/** Limits for the definitions that plugins and remote servers show to people and models. */
export const definitionCaps = {
  maxSchemaChars: 64_000,
  maxSchemaDepth: 24,
  maxPropertyChars: 200,
} as const

/** Schemes that a client executes or displays: they name no resource at a server. */
const harmfulScheme = /^(javascript|vbscript|data):/i

/** Ignores variables and blanks, as a client that fills them in or removes them would. */
export const isHarmfulUri = (uri: string): boolean =>
  harmfulScheme.test(uri.replace(/\{[^{}]*\}|[\s\p{Cc}]/gu, ''))

/** Why a schema cannot be reviewed or validated; `undefined` if it can. */
export function schemaProblem(which: string, schema: JsonObject): string | undefined {
  if (JSON.stringify(schema).length > definitionCaps.maxSchemaChars)
    return `its ${which} is larger than ${definitionCaps.maxSchemaChars} characters`
  return nodeProblem(which, schema, 0)
}

function nodeProblem(which: string, node: Json, depth: number): string | undefined {
  if (depth > definitionCaps.maxSchemaDepth)
    return `its ${which} is nested deeper than ${definitionCaps.maxSchemaDepth} levels`
  if (Array.isArray(node)) return first(node, (one) => nodeProblem(which, one, depth + 1))
  if (!isFields(node)) return undefined
  if (['$ref', '$dynamicRef', '$recursiveRef'].some((keyword) => isElsewhere(node[keyword])))
    return `its ${which} refers to a schema elsewhere`
  return first(Object.values(node), (one) => nodeProblem(which, one, depth + 1))
}

const isElsewhere = (ref: Json | undefined) => typeof ref === 'string' && !ref.startsWith('#')

/** Whether a property has a name too long for a reviewer to read. */
export const hasLongName = (value: Json): boolean =>
  Array.isArray(value)
    ? value.some(hasLongName)
    : isFields(value) &&
      Object.entries(value).some(
        ([name, part]) => name.length > definitionCaps.maxPropertyChars || hasLongName(part),
      )
