import type { Json, JsonObject } from '#contracts/json.ts'

/**
 * The same value with U+FFFD in the place of each lone half of a surrogate pair, names of properties included: values
 * from outside may have such halves, and strict servers refuse them. Costs nothing where there are none.
 *
 * @param value At most some hundred levels deep: it calls itself.
 */
export function toWellFormedJson<T extends Json>(value: T): T {
  return isWellFormed(value) ? value : (wellFormed(value) as T)
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(([key, part]) => key.isWellFormed() && isWellFormed(part))
}

function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  const parts = Object.entries(value).map(([key, part]) => [key.toWellFormed(), wellFormed(part)])
  return Object.fromEntries(parts) as JsonObject
}
