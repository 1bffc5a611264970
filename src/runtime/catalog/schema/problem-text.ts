import { isJsonObject } from '#contracts/json-object.ts'
import { headOf } from '#contracts/cut.ts'
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

/** The message of each keyword; `%` stands for the keyword's setting. */
const problems: Readonly<Record<string, string>> = {
  required: 'is required',
  dependentRequired: 'is required beside %',
  minimum: 'must be at least %',
  maximum: 'must be at most %',
  exclusiveMinimum: 'must be more than %',
  exclusiveMaximum: 'must be less than %',
  multipleOf: 'must be a multiple of %',
  minLength: 'must have at least % characters',
  maxLength: 'must have at most % characters',
  minItems: 'must have at least % items',
  maxItems: 'must have at most % items',
  minProperties: 'must have at least % properties',
  maxProperties: 'must have at most % properties',
  uniqueItems: 'must not repeat an item',
  format: 'must be a valid %',
}

function messageOf(
  { keyword, setting }: Finding,
  path: string,
  schema: Record<string, unknown>,
): string {
  switch (keyword) {
    case 'false':
      return `is not allowed here${knownNames(path, schema)}`
    case 'type':
      return `must be ${typesOf(setting)}`
    case 'enum':
      return `must be one of ${listed(setting)}`
    case 'const':
      return `must be ${JSON.stringify(setting)}`
    case 'anyOf':
    case 'oneOf':
      return alternatives(setting)
    default:
      return problems[keyword]?.replace('%', () => String(setting)) ?? `is not valid (${keyword})`
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
  const types = branches.map((branch) => (isJsonObject(branch) ? branch['type'] : undefined))
  const areTypes = types.length > 0 && types.every((type) => typeof type === 'string')
  return areTypes && new Set(types).size === types.length
    ? `must be ${typesOf(types)} as the schema describes`
    : 'must fit exactly one of the forms the schema allows'
}

function knownNames(path: string, schema: Record<string, unknown>): string {
  const properties = schema['properties']
  if (path.includes('.') || path.includes('[') || !isJsonObject(properties)) return ''
  const names = Object.keys(properties).slice(0, 20)
  return names.length > 0 ? `; known names: ${names.join(', ')}` : ''
}
