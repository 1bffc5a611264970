import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'

export type ValueType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'any'

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The parameters of a tool in order, required ones first. */
export function parametersOf(schema: JsonSchema): readonly Parameter[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const all = Object.entries(properties).map(([name, about]) => ({
    name,
    schema: isJsonObject(about) ? about : {},
    isRequired: required.has(name),
  }))
  return [
    ...all.filter(({ isRequired }) => isRequired),
    ...all.filter(({ isRequired }) => !isRequired),
  ]
}

export interface Parameter {
  readonly name: string
  readonly schema: JsonSchema
  readonly isRequired: boolean
}

/** What a value must be; of several types the first that is not null. */
export function typeOf(schema: JsonSchema): ValueType {
  const { type } = schema
  const named = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  switch (named) {
    case 'string':
    case 'number':
    case 'integer':
    case 'boolean':
    case 'array':
    case 'object':
      return named
    default:
      return isJsonObject(schema.properties) ? 'object' : fromAlternatives(schema)
  }
}

function fromAlternatives({ anyOf, oneOf }: JsonSchema): ValueType {
  const first = [anyOf, oneOf]
    .filter(Array.isArray)
    .flat()
    .find((branch) => isJsonObject(branch) && branch.type !== 'null')
  return isJsonObject(first) && (first.anyOf ?? first.oneOf) === undefined ? typeOf(first) : 'any'
}

/** A word or phrase as a value of the schema; `undefined` if it cannot be one. */
export function toValue(schema: JsonSchema, text: string): Json | undefined {
  const words = text.trim()
  if (Array.isArray(schema.enum)) {
    return schema.enum.find((one) => String(one).toLowerCase() === words.toLowerCase())
  }
  switch (typeOf(schema)) {
    case 'string':
      return words === '' ? undefined : words
    case 'number':
      return toNumber(words)
    case 'integer': {
      const number = toNumber(words)
      return Number.isInteger(number) ? number : undefined
    }
    case 'boolean':
      return toBoolean(words)
    case 'array':
      return toArray(schema, words)
    case 'object': {
      const value = parseJson(words)
      return isJsonObject(value) ? value : undefined
    }
    case 'any':
      return words === '' ? undefined : (parseJson(words) ?? words)
  }
}

function toArray({ items }: JsonSchema, text: string): Json | undefined {
  const value = parseJson(text)
  if (Array.isArray(value)) return value
  const itemSchema = isJsonObject(items) ? items : {}
  const parts = text
    .split(/, and |,| and /)
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const converted = parts.map((part) => toValue(itemSchema, part))
  return parts.length > 0 && converted.every((one) => one !== undefined) ? converted : undefined
}

function toNumber(text: string): number | undefined {
  const plain = text.replace(/(?<=\d)[,_](?=\d{3}\b)/g, '')
  return /^[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i.test(plain) ? Number(plain) : undefined
}

function toBoolean(text: string): boolean | undefined {
  if (/^(?:true|yes|on|enabled?)$/i.test(text)) return true
  return /^(?:false|no|off|disabled?)$/i.test(text) ? false : undefined
}

export function parseJson(text: string): Json | undefined {
  if (text.length > 1_000_000) return undefined
  try {
    // JSON.parse makes JSON only.
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
