import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'

export interface Parameter {
  readonly name: string
  readonly schema: JsonSchema
  readonly isRequired: boolean
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const parametersOf = ({ properties, required }: JsonSchema): readonly Parameter[] =>
  Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    schema: isJsonObject(schema) ? schema : {},
    isRequired: Array.isArray(required) && required.includes(name),
  }))

export const requiredOf = (schema: JsonSchema): readonly Parameter[] =>
  parametersOf(schema).filter(({ isRequired }) => isRequired)

/** A phrase as a value of the schema; `undefined` if it cannot be one. */
export function toValue({ type, enum: allowed }: JsonSchema, text: string): Json | undefined {
  if (text === '' || type === 'string') return text || undefined
  const value = parseJson(text)
  if (Array.isArray(allowed)) return allowed.find((one) => one === text || one === value)
  if (type === undefined) return value ?? text
  const named = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value
  return [type].flat().some((one) => one === named || (one === 'number' && named === 'integer'))
    ? value
    : undefined
}

function parseJson(text: string): Json | undefined {
  try {
    // JSON.parse makes JSON only.
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** A value that fits a plain schema: no references, no formats. Its texts say `text`. */
export function sampleOf(schema: JsonSchema, text: string): Json {
  const { anyOf, enum: allowed, minimum = 0, maxLength } = schema
  if (Array.isArray(anyOf)) return sampleOf(anyOf.find(isJsonObject) ?? {}, text)
  if (Array.isArray(allowed)) return allowed[0] ?? null
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        requiredOf(schema).map((one) => [one.name, sampleOf(one.schema, text)]),
      )
    case 'array':
      return []
    case 'number':
    case 'integer':
      return minimum
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
  }
}
