import type { ErasedPerson } from '../../types/erasure.ts'
import type { Json, JsonObject } from '#contracts/json.ts'

/** Fields of events with somebody in them, by name or as whose object it is (`principal:<name>`). */
const people: ReadonlySet<string> = new Set(['owner', 'principal', 'by', 'who'])
/** Kinds of events whose `by` is a way or a grant. */
const byNobody: ReadonlySet<string> = new Set(['context_compacted', 'oauth_revoked'])
/** Fields with lines, of the policy or of what an agent needs, some of which begin with whom they are for. */
const lines: ReadonlySet<string> = new Set(['added', 'removed', 'needs'])
const headsOf = (name: string) => [`principal ${name}: `, `share ${name}: `]

/** What a text of JSON has in it if a person may be named there. */
export const formsOf = (name: string): readonly string[] =>
  [`${name}"`, `principal:${name}"`, ...headsOf(name)].map((form) => `"${form}`)

/**
 * The payload of an event with the pseudonym for the name. A name may as well be a word of ours or the id of somebody's
 * plugin (`weather`), so no key is touched, nor the value of a field in which nobody is.
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
