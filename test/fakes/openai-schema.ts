import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Schema, Validator } from '@cfworker/json-schema'

type Node = { [key: string]: unknown }

const file = join(import.meta.dirname, '../fixtures/specs/openai-chat-subset.json')
const spec = fromOpenApi(JSON.parse(readFileSync(file, 'utf8'))) as Node

const validators = new Map<string, Validator>()
/** One for each name: to make one goes through the whole description. */
function validatorOf(name: string): Validator {
  const schema = { ...spec, $ref: `#/components/schemas/${name}` } as Schema
  const validator = validators.get(name) ?? new Validator(schema, '2020-12', false)
  validators.set(name, validator)
  return validator
}

/** Faults of a body by OpenAI's own description; empty if there is none. */
export function problemsOf(name: string, body: unknown): readonly string[] {
  const { valid, errors } = validatorOf(name).validate(body)
  return valid ? [] : errors.map((error) => `${error.instanceLocation}: ${error.error}`)
}

/** OpenAPI's `nullable` and its formats of numbers are not JSON Schema. */
function fromOpenApi(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromOpenApi)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, format, ...rest } = value as Node
  const converted = Object.fromEntries(
    Object.entries({
      ...rest,
      ...(format !== 'unixtime' && format !== undefined && { format }),
    }).map(([key, inner]) => [key, fromOpenApi(inner)]),
  )
  return nullable === true ? { anyOf: [converted, { type: 'null' }] } : converted
}
