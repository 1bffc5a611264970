import { headOf } from '#contracts/cut.ts'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'

export type Parameter = ReturnType<typeof parametersOf>[number]

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const parametersOf = ({ properties, required }: JsonSchema) =>
  Object.entries(isJsonObject(properties) ? properties : {}).map(([name, given]) => {
    const isRequired = Array.isArray(required) && required.includes(name)
    return { name, schema: isJsonObject(given) ? given : {}, isRequired }
  })

export const requiredOf = (schema: JsonSchema) =>
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
    return JSON.parse(text) as Json // it makes nothing else
  } catch {
    return undefined
  }
}

/** A value that fits a plain schema: no references, no formats. Its texts say `text`. */
export function sampleOf(schema: JsonSchema, text: string): Json {
  const { anyOf, enum: allowed, minimum = 0, maxLength } = schema
  if (Array.isArray(anyOf)) return sampleOf(anyOf.find(isJsonObject) ?? {}, text)
  if (Array.isArray(allowed)) return allowed[0] ?? null
  const type = String([schema.type].flat()[0])
  if (type === 'object')
    return Object.fromEntries(
      requiredOf(schema).map((one) => [one.name, sampleOf(one.schema, text)]),
    )
  const samples = { array: [], number: minimum, integer: minimum, boolean: false, null: null }
  const sample = Object.entries(samples).find(([name]) => name === type)?.[1]
  if (sample !== undefined) return sample
  return typeof maxLength === 'number' ? headOf(text, maxLength) : text
}
