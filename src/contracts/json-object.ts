import type { JsonObject } from './json.ts'

/** Whether this is a JSON object: no list, not `null`. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
