import { dereference } from '@cfworker/json-schema'
import type { Json, JsonObject } from '#contracts/json.ts'

/** Why a schema cannot be used. The text is for whoever wrote the schema. */
export class SchemaProblem extends Error {}

/** A private copy of a schema that is safe to evaluate. */
export interface SafeSchema {
  readonly root: Record<string, unknown>
  /** Where references lead, by what the library made of them: `__absolute_ref__` of a node. */
  readonly lookup: Readonly<Record<string, unknown>>
  /** Whether it matters what was looked at. */
  readonly asksUnevaluated: boolean
}

const maxDepth = 64
const maxNodes = 20_000

const mapKeywords: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const listKeywords: ReadonlySet<string> = new Set(['prefixItems', 'allOf', 'anyOf', 'oneOf'])
const schemaKeywords: ReadonlySet<string> = new Set([
  'items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'unevaluatedProperties',
  'propertyNames', 'not', 'if', 'then', 'else',
]) // prettier-ignore
const plainKeywords: ReadonlySet<string> = new Set([
  '$anchor', 'type', 'const', 'enum', 'required', 'dependentRequired', 'minimum', 'maximum', 'exclusiveMinimum',
  'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems',
  'minProperties', 'maxProperties', 'minContains', 'maxContains',
]) // prettier-ignore
// The library's expressions for these were read and tried on 100 kB of hostile text. `url` is exponential and
// becomes `uri`; `regex` compiles what it is given; the rest is left to the tool.
const formats: Readonly<Record<string, string>> = {
  date: 'date',
  time: 'time',
  'date-time': 'date-time',
  duration: 'duration',
  email: 'email',
  hostname: 'hostname',
  ipv4: 'ipv4',
  uuid: 'uuid',
  uri: 'uri',
  url: 'uri',
}

/**
 * Copies the keywords we evaluate and nothing else. Gone: `pattern` and `patternProperties` (a hostile expression
 * freezes the object, SECURITY: no remote schema reaches a native RegExp), `$id` (moves what `#` means), unknown
 * keywords. Throws `SchemaProblem` for a `$ref` that leaves the schema and for one too deep or too large.
 */
export function toSafeSchema(schema: JsonObject): SafeSchema {
  let nodes = 0
  let asksUnevaluated = false

  function copyMap(map: JsonObject, depth: number): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(map).map(([name, value]) => [name, copy(value, depth + 1)]),
    )
  }

  function copyValue(keyword: string, value: Json, depth: number): unknown {
    if (mapKeywords.has(keyword)) return isObject(value) ? copyMap(value, depth) : undefined
    if (listKeywords.has(keyword))
      return Array.isArray(value) ? value.map((item) => copy(item, depth + 1)) : undefined
    if (keyword === 'items' && Array.isArray(value))
      return value.map((item) => copy(item, depth + 1))
    if (schemaKeywords.has(keyword)) return copy(value, depth + 1)
    if (keyword === 'format') return typeof value === 'string' ? formats[value] : undefined
    if (keyword === '$ref') return localRef(value)
    return plainKeywords.has(keyword) ? value : undefined
  }

  function copy(value: Json | undefined, depth: number): Record<string, unknown> | false {
    nodes += 1
    if (depth > maxDepth) throw new SchemaProblem(`is nested deeper than ${maxDepth} levels`)
    if (nodes > maxNodes) throw new SchemaProblem(`has more than ${maxNodes} parts`)
    if (value === false) return false
    const source = isObject(value) ? value : {}
    const node: Record<string, unknown> = {}
    for (const [keyword, part] of Object.entries(source)) {
      const copied = copyValue(keyword, part, depth)
      if (copied !== undefined) node[keyword] = copied
    }
    // Without the expressions we cannot tell which names they would have allowed.
    if (isObject(source['patternProperties'])) {
      delete node['additionalProperties']
      delete node['unevaluatedProperties']
    }
    asksUnevaluated ||= 'unevaluatedItems' in node || 'unevaluatedProperties' in node
    return node
  }

  const root = copy(schema, 0) || {}
  return { root, lookup: dereference(root), asksUnevaluated }
}

function localRef(ref: Json): string {
  if (typeof ref === 'string' && ref.startsWith('#')) return ref
  throw new SchemaProblem('refers to a schema outside itself')
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
