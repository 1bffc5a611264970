import { isJsonObject } from '#contracts/json-object.ts'
import type { Json, JsonObject } from '#contracts/json.ts'

/** Why a schema cannot be used. The text is for the author of the schema. */
export class SchemaProblem extends Error {}

type SchemaNode = Record<string, unknown>

/** A private copy of a schema that is safe to evaluate. */
export interface SafeSchema {
  readonly root: SchemaNode
  /** The target of a node's `$ref`; absent for a reference without a target. */
  readonly targets: ReadonlyMap<object, SchemaNode | false>
  /** Whether evaluated members have to be tracked. */
  readonly asksUnevaluated: boolean
}

const maxDepth = 64
const maxNodes = 20_000
/**
 * The longest names, references and anchors. Tables hash texts of twice this length by their length alone, so that
 * texts of equal length would collide.
 */
const maxNameChars = 8_000

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
const isNumber = (value: Json): boolean => Number.isFinite(value)
const isCount = (value: Json): boolean => Number.isInteger(value) && Number(value) >= 0
const isText = (value: Json): boolean => typeof value === 'string'
const isTexts = (value: Json): boolean => Array.isArray(value) && value.every(isText)
const keywordsOf = (isRight: (value: Json) => boolean, ...keywords: readonly string[]) =>
  keywords.map((keyword) => [keyword, isRight] as const)

/** The settings that are copied as they are, with a check of their type: each visit relies on it. */
const plainKeywords: ReadonlyMap<string, (value: Json) => boolean> = new Map([
  ...keywordsOf(
    isNumber,
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
  ),
  ...keywordsOf(isCount, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties'),
  ...keywordsOf(isCount, 'maxProperties', 'minContains', 'maxContains'),
  ...keywordsOf((value) => isText(value) || isTexts(value), 'type'),
  ...keywordsOf(() => true, 'const'),
  ...keywordsOf(Array.isArray, 'enum'),
  ...keywordsOf((value) => typeof value === 'boolean', 'uniqueItems'),
])
// The library's expressions for these were read and tried on 100 kB of hostile text. `url` is exponential and
// becomes `uri`; `regex` compiles what it is given; the rest is left to the tool.
const formats: ReadonlyMap<Json, string> = new Map([
  ...['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'uuid', 'uri'].map(
    (format) => [format, format] as const,
  ),
  ['url', 'uri'],
])

/**
 * Copies the keywords we evaluate and nothing else. Gone: `pattern` and `patternProperties` (a hostile expression
 * freezes the object, docs/security.md T15: no remote schema reaches a native RegExp), `$id` (moves what `#` means),
 * unknown keywords, and settings that are not of their keyword's type. Throws `SchemaProblem` for a `$ref` that leaves
 * the schema and for one too deep, too large or with too long a name.
 */
export function toSafeSchema(schema: JsonObject): SafeSchema {
  let nodes = 0
  let asksUnevaluated = false
  const references = new Map<object, string>()
  const anchors = new Map<string, SchemaNode>()

  function copyMap(map: JsonObject, depth: number): SchemaNode {
    return Object.fromEntries(
      Object.entries(map).map(([name, value]) => [shortName(name), copy(value, depth + 1)]),
    )
  }

  function copyValue(keyword: string, value: Json, depth: number): unknown {
    if (mapKeywords.has(keyword)) return isJsonObject(value) ? copyMap(value, depth) : undefined
    if (listKeywords.has(keyword))
      return Array.isArray(value) ? value.map((item) => copy(item, depth + 1)) : undefined
    if (keyword === 'items' && Array.isArray(value))
      return value.map((item) => copy(item, depth + 1))
    if (schemaKeywords.has(keyword)) return copy(value, depth + 1)
    if (keyword === 'format') return formats.get(value)
    if (keyword === '$ref') return localRef(value)
    if (keyword === '$anchor') return typeof value === 'string' ? shortName(value) : undefined
    if (keyword === 'required') return namesOf(value)
    if (keyword === 'dependentRequired') return dependentOf(value)
    return plainKeywords.get(keyword)?.(value) ? value : undefined
  }

  function copy(value: Json | undefined, depth: number): SchemaNode | false {
    nodes += 1
    if (depth > maxDepth) throw new SchemaProblem(`is nested deeper than ${maxDepth} levels`)
    if (nodes > maxNodes) throw new SchemaProblem(`has more than ${maxNodes} parts`)
    return value === false ? false : copyNode(isJsonObject(value) ? value : {}, depth)
  }

  function copyNode(source: JsonObject, depth: number): SchemaNode {
    const node: SchemaNode = {}
    for (const [keyword, part] of Object.entries(source)) {
      const copied = copyValue(keyword, part, depth)
      if (copied !== undefined) node[keyword] = copied
    }
    // The expressions are dropped, so it is unknown which names they would allow.
    if (isJsonObject(source['patternProperties'])) {
      delete node['additionalProperties']
      delete node['unevaluatedProperties']
    }
    asksUnevaluated ||= 'unevaluatedItems' in node || 'unevaluatedProperties' in node
    if (typeof node['$ref'] === 'string') references.set(node, node['$ref'])
    if (typeof node['$anchor'] === 'string') anchors.set(node['$anchor'], node)
    return node
  }

  const root = copyNode(schema, 0)
  const targets = new Map<object, SchemaNode | false>()
  for (const [node, reference] of references) {
    const target = targetOf(reference, root, anchors)
    if (target !== undefined) targets.set(node, target)
  }
  return { root, targets, asksUnevaluated }
}

function localRef(ref: Json): string {
  if (typeof ref === 'string' && ref.startsWith('#')) return shortName(ref)
  throw new SchemaProblem('refers to a schema outside itself')
}

function shortName(name: string): string {
  if (name.length <= maxNameChars) return name
  throw new SchemaProblem(`has a name of more than ${maxNameChars} characters`)
}

function namesOf(value: Json): readonly string[] | undefined {
  return isTexts(value) ? (value as readonly string[]).map(shortName) : undefined
}

function dependentOf(value: Json): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined
  const entries = Object.entries(value).map(([name, needed]) => [shortName(name), namesOf(needed)])
  return entries.every(([, needed]) => needed) ? Object.fromEntries(entries) : undefined
}

/** `#`, `#anchor`, or a JSON pointer to a schema: `#/$defs/a/items`. The cost grows with the reference's length. */
function targetOf(
  reference: string,
  root: SchemaNode,
  anchors: ReadonlyMap<string, SchemaNode>,
): SchemaNode | false | undefined {
  const pointer = decoded(reference.slice(1))
  if (pointer === '') return root
  if (!pointer.startsWith('/')) return anchors.get(pointer)
  const names = pointer.slice(1).split('/').map(unescaped)
  let at: SchemaNode | false | undefined = root
  while (names.length > 0 && at) at = stepTo(at, names)
  return names.length > 0 ? undefined : at
}

/** Consumes the names that lead to the next schema: a keyword, and an index or name after it. */
function stepTo(node: SchemaNode, names: string[]): SchemaNode | false | undefined {
  const keyword = names.shift() ?? ''
  const part = ownOf(node, keyword)
  if (Array.isArray(part) && (listKeywords.has(keyword) || keyword === 'items')) {
    const index = names.shift() ?? ''
    return isIndex.test(index) ? (ownOf(part, index) as SchemaNode | false | undefined) : undefined
  }
  const next = mapKeywords.has(keyword) ? ownOf(part, names.shift() ?? '') : part
  const isPlace = mapKeywords.has(keyword) || schemaKeywords.has(keyword)
  return isPlace ? (next as SchemaNode | false | undefined) : undefined
}

const isIndex = /^(?:0|[1-9]\d*)$/

const ownOf = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null && Object.hasOwn(of, name)
    ? (of as SchemaNode)[name]
    : undefined

const unescaped = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~')

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
