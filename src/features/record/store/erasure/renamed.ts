import type { ErasedPerson } from '../../types/erasure.ts'
import type { Json, JsonObject } from '#contracts/json.ts'

/** Fields of events whose value is a principal, by name or by its object (`principal:<name>`). */
const people: ReadonlySet<string> = new Set(['owner', 'principal', 'by', 'who'])
/** Kinds of events whose `by` is a way or a grant, not a principal. */
const byNobody: ReadonlySet<string> = new Set(['context_compacted', 'oauth_revoked'])
/** Fields with lines of a policy or of an agent's needs; some lines begin with a principal. */
const lines: ReadonlySet<string> = new Set(['added', 'removed', 'needs'])
const headsOf = (name: string) => [`principal ${name}: `, `share ${name}: `]

/** The JSON texts that show that a person may be named in a row. */
export const formsOf = (name: string): readonly string[] =>
  [`${name}"`, `principal:${name}"`, ...headsOf(name)].map((form) => `"${form}`)

/**
 * The payload of an event with the pseudonym in place of the name. A name may also be a common word or the id of a
 * plugin (`weather`), so keys are left alone, and so are values of fields that name no principal.
 */
export function renamed(
  data: JsonObject,
  type: string,
  { principal, pseudonym }: ErasedPerson,
): JsonObject {
  const inField = (field: string, value: Json): Json => {
    if (Array.isArray(value)) return value.map((one) => inField(field, one))
    if (typeof value === 'object' && value !== null) return inObject(value as JsonObject)
    if (people.has(field) && !(field === 'by' && byNobody.has(type))) {
      if (value === principal) return pseudonym
      if (value === `principal:${principal}`) return `principal:${pseudonym}`
    }
    if (!lines.has(field) || typeof value !== 'string') return value
    const at = headsOf(principal).findIndex((head) => value.startsWith(head))
    const head = headsOf(principal)[at] ?? ''
    return `${headsOf(pseudonym)[at] ?? ''}${value.slice(head.length)}`
  }
  const inObject = (object: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(object).map(([field, value]) => [field, inField(field, value)]),
    )
  return inObject(data)
}
