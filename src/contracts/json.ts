/** Plain JSON: every value that crosses a border (plugin, Durable Object, wire, row). */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** A JSON Schema (2020-12 or draft-07 subset) as tools and manifests carry it. */
export type JsonSchema = JsonObject

/** JSON with the keys of every object in order. */
export const toCanonicalJson = (value: unknown): string => JSON.stringify(sorted(value))

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]))
}
