import type { Fields } from '#contracts/foreign-json.ts'
import { isFields } from '#contracts/foreign-json.ts'

/** The fields of a foreign object that say something: a `null` is as good as absent. Nothing of what is no object. */
export const fieldsOf = (value: unknown): Fields =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null))
    : {}

/** So deep goes what is known by its fields: below is what the other side made up itself. */
const maxDepth = 12

/** Without fields that are null, at any depth: for what gives no null a meaning. */
export function withoutNulls(value: unknown, depth = 0): unknown {
  if (depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((one: unknown) => withoutNulls(one, depth + 1))
  if (!isFields(value)) return value
  const parts = Object.entries(fieldsOf(value))
  return Object.fromEntries(parts.map(([key, part]) => [key, withoutNulls(part, depth + 1)]))
}
