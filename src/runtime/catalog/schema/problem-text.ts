import { headOf } from '#contracts/cut.ts'
import { isObject } from './safe-schema.ts'
import type { Finding } from './visit.ts'

/** The place and the reason of a fault, in words for a model. */
export interface Problem {
  readonly path: string
  readonly message: string
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

const maxChars = 500

/** The fault, where it is, and in words that a model can act on. */
export function problemOf(finding: Finding, schema: Record<string, unknown>): Problem {
  const path = finding.path.reduce(joined, '')
  const missing = finding.missing === undefined ? path : joined(path, finding.missing)
  return {
    path: headOf(missing, maxChars),
    message: headOf(messageOf(finding, path, schema), maxChars),
  }
}

function messageOf(
  { keyword, setting }: Finding,
  path: string,
  schema: Record<string, unknown>,
): string {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'dependentRequired':
      return `is required beside ${String(setting)}`
    case 'false':
      return `is not allowed here${knownNames(path, schema)}`
    case 'type':
      return `must be ${typesOf(setting)}`
    case 'enum':
      return `must be one of ${listed(setting)}`
    case 'const':
      return `must be ${JSON.stringify(setting)}`
    case 'minimum':
      return `must be at least ${String(setting)}`
    case 'maximum':
      return `must be at most ${String(setting)}`
    case 'exclusiveMinimum':
      return `must be more than ${String(setting)}`
    case 'exclusiveMaximum':
      return `must be less than ${String(setting)}`
    case 'multipleOf':
      return `must be a multiple of ${String(setting)}`
    case 'minLength':
      return `must have at least ${String(setting)} characters`
    case 'maxLength':
      return `must have at most ${String(setting)} characters`
    case 'minItems':
      return `must have at least ${String(setting)} items`
    case 'maxItems':
      return `must have at most ${String(setting)} items`
    case 'minProperties':
      return `must have at least ${String(setting)} properties`
    case 'maxProperties':
      return `must have at most ${String(setting)} properties`
    case 'uniqueItems':
      return 'must not repeat an item'
    case 'format':
      return `must be a valid ${String(setting)}`
    case 'anyOf':
    case 'oneOf':
      return alternatives(setting)
    default:
      return `is not valid (${keyword})`
  }
}

/** `filters`, `0`, `name` → `filters[0].name`. */
function joined(path: string, segment: string): string {
  if (/^\d+$/.test(segment) && path !== '') return `${path}[${segment}]`
  return path === '' ? segment : `${path}.${segment}`
}

function typesOf(setting: unknown): string {
  const types: readonly unknown[] = Array.isArray(setting) ? setting : [setting]
  return types.map((type) => typeNames[String(type)] ?? String(type)).join(' or ')
}

function listed(setting: unknown): string {
  const values: readonly unknown[] = Array.isArray(setting) ? setting : []
  const shown = values
    .slice(0, 20)
    .map((value) => JSON.stringify(value))
    .join(', ')
  return values.length > 20 ? `${shown}, …` : shown
}

/** The types, if the alternatives differ in type only; else a general sentence. */
function alternatives(setting: unknown): string {
  const branches: readonly unknown[] = Array.isArray(setting) ? setting : []
  const types = branches.map((branch) => (isObject(branch) ? branch['type'] : undefined))
  const areTypes = types.length > 0 && types.every((type) => typeof type === 'string')
  return areTypes && new Set(types).size === types.length
    ? `must be ${typesOf(types)} as the schema describes`
    : 'must fit exactly one of the forms the schema allows'
}

function knownNames(path: string, schema: Record<string, unknown>): string {
  const properties = schema['properties']
  if (path.includes('.') || path.includes('[') || !isObject(properties)) return ''
  const names = Object.keys(properties).slice(0, 20)
  return names.length > 0 ? `; known names: ${names.join(', ')}` : ''
}
