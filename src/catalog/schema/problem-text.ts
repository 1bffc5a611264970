import type { OutputUnit } from '@cfworker/json-schema'
import { isObject } from './safe-schema.ts'

export interface Problem {
  readonly path: string
  readonly message: string
}

/** These only say that something below them is wrong; the entry after them says what. */
const wrappers: ReadonlySet<string> = new Set([
  'properties', 'items', 'prefixItems', 'additionalItems', 'additionalProperties', 'unevaluatedProperties',
  'unevaluatedItems', 'allOf', '$ref', 'if', 'dependentSchemas', 'propertyNames',
]) // prettier-ignore

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

/** The first thing that is wrong, where it is and in words a model can act on. */
export function problemOf(errors: readonly OutputUnit[], schema: Record<string, unknown>): Problem {
  const { path, message } = firstProblem(errors, schema)
  return { path: path.slice(0, maxChars), message: message.slice(0, maxChars) }
}

function firstProblem(errors: readonly OutputUnit[], schema: Record<string, unknown>): Problem {
  const unit = errors.find(({ keyword }) => !wrappers.has(keyword)) ?? errors[0]
  if (!unit) return { path: '', message: 'is not valid' }
  const path = pathOf(unit.instanceLocation)
  const quoted = /"([^]*)"/.exec(unit.error)?.[1] ?? ''
  if (unit.keyword === 'required') return { path: joined(path, quoted), message: 'is required' }
  if (unit.keyword === 'false')
    return { path, message: `is not allowed here${knownNames(path, schema)}` }
  const setting = settingAt(schema, unit.keywordLocation)
  // Behind an `$anchor` the place in the schema is not found again: the library's own words, then.
  if (setting === undefined) return { path, message: `is not valid: ${unit.error}` }
  switch (unit.keyword) {
    case 'type':
      return { path, message: `must be ${typesOf(setting)}` }
    case 'enum':
      return { path, message: `must be one of ${listed(setting)}` }
    case 'const':
      return { path, message: `must be ${JSON.stringify(setting)}` }
    case 'minimum':
      return { path, message: `must be at least ${String(setting)}` }
    case 'maximum':
      return { path, message: `must be at most ${String(setting)}` }
    case 'exclusiveMinimum':
      return { path, message: `must be more than ${String(setting)}` }
    case 'exclusiveMaximum':
      return { path, message: `must be less than ${String(setting)}` }
    case 'multipleOf':
      return { path, message: `must be a multiple of ${String(setting)}` }
    case 'minLength':
      return { path, message: `must have at least ${String(setting)} characters` }
    case 'maxLength':
      return { path, message: `must have at most ${String(setting)} characters` }
    case 'minItems':
      return { path, message: `must have at least ${String(setting)} items` }
    case 'maxItems':
      return { path, message: `must have at most ${String(setting)} items` }
    case 'minProperties':
      return { path, message: `must have at least ${String(setting)} properties` }
    case 'maxProperties':
      return { path, message: `must have at most ${String(setting)} properties` }
    case 'uniqueItems':
      return { path, message: 'must not repeat an item' }
    case 'format':
      return { path, message: `must be a valid ${String(setting)}` }
    case 'anyOf':
    case 'oneOf':
      return { path, message: alternatives(setting) }
    default:
      return { path, message: `is not valid (${unit.keyword})` }
  }
}

/** `#/filters/0/name` → `filters[0].name`. */
function pathOf(location: string): string {
  return location.split('/').slice(1).map(unescaped).reduce(joined, '')
}

function joined(path: string, segment: string): string {
  if (/^\d+$/.test(segment) && path !== '') return `${path}[${segment}]`
  return path === '' ? segment : `${path}.${segment}`
}

const unescaped = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~')

/** The keyword's value in the schema; a `$ref` on the way is followed. */
function settingAt(schema: Record<string, unknown>, location: string): unknown {
  let here: unknown = schema
  for (const segment of location.split('/').slice(1).map(unescaped)) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, segment)) return undefined
    // Checked above: an own property of an object.
    here = (here as Record<string, unknown>)[segment]
    if (segment === '$ref' && typeof here === 'string')
      here = here === '#' ? schema : settingAt(schema, here)
  }
  return here
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

/** For alternatives that differ in type only, the types; else what is certain. */
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
