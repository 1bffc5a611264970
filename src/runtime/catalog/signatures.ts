import { isJsonObject } from '#contracts/json-object.ts'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { shortened } from '#contracts/cut.ts'
import type { Tool } from '#contracts/tool.ts'
import { toVisible, withCodes } from '#contracts/visible-text.ts'
import { splitExclusions } from './search/read-document.ts'

const maxCommentChars = 160
const maxNoteChars = 80
/** Limits of a signature: deeper, longer or more text becomes `unknown`. */
const maxDepth = 6
const maxMembers = 40
const maxTypes = 400
const maxTypeChars = 4_000

/**
 * A tool as TypeScript sees it, in one line and its comment: `tools.files.read(input: { path: string }): Promise<…>`.
 * The same for the same definition. Names and texts are foreign: none of them ends its comment, string or line.
 */
export function toSignature({ name, description, inputSchema, outputSchema }: Tool): string {
  const { positive, excluded } = splitExclusions(description)
  const said = [positive, excluded].map((text) => toComment(text, maxCommentChars)).filter(Boolean)
  const output = outputSchema ? typeOf(outputSchema) : 'unknown'
  return `/** ${said.join(' ')} */\n${callOf(name, inputOf(inputSchema))}: Promise<${output}>`
}

/** How code calls a tool of this name. */
function callOf(name: string, input: string): string {
  const split = name.indexOf('__')
  const [owner, tool] = [name.slice(0, split), name.slice(split + 2)]
  // These two mean something else where `tools` is taken apart.
  return split <= 0 || tool === '' || owner === 'call' || tool === 'then'
    ? `tools.call(name: ${quoted(name)}${input && `, ${input}`})`
    : `tools${memberOf(owner)}${memberOf(tool)}(${input})`
}

function inputOf(schema: JsonSchema): string {
  const { required, properties } = schema
  const isClosed = Object.keys(isJsonObject(properties) ? properties : {}).length === 0
  if (isClosed && schema['additionalProperties'] === false) return ''
  return `input${Array.isArray(required) && required.length > 0 ? '' : '?'}: ${typeOf(schema)}`
}

function typeOf(schema: JsonSchema): string {
  const type = toType(schema, { root: schema, depth: 0, count: { types: 0 } })
  return type.length > maxTypeChars ? 'unknown' : type
}

interface Place {
  readonly root: JsonSchema
  readonly depth: number
  /** A schema that refers to itself in many places is endless otherwise. */
  readonly count: { types: number }
}

/**
 * The type of fitting values. Wider than the schema where TypeScript cannot express it, since the call itself is
 * checked against the schema.
 */
function toType(schema: Json | undefined, place: Place): string {
  if (schema === false) return 'never'
  place.count.types += 1
  if (!isJsonObject(schema) || place.depth > maxDepth || place.count.types > maxTypes)
    return 'unknown'
  const below = { ...place, depth: place.depth + 1 }
  const { $ref: ref, enum: values, anyOf, oneOf, allOf } = schema
  if (typeof ref === 'string') return toType(referred(ref, place.root), below)
  if ('const' in schema) return literal(schema['const'])
  if (Array.isArray(values) && values.length <= maxMembers) return unionOf(values, literal)
  const choices = anyOf ?? oneOf
  const parts = [
    ...('type' in schema || 'properties' in schema ? [plainType(schema, below)] : []),
    ...(Array.isArray(choices) ? [grouped(unionOf(choices, (one) => toType(one, below)))] : []),
    ...(Array.isArray(allOf) ? allOf.slice(0, maxMembers) : []).map((one) =>
      grouped(toType(one, below)),
    ),
  ].filter((part) => part !== 'unknown')
  return [...new Set(parts)].join(' & ') || 'unknown'
}

function plainType(schema: JsonObject, place: Place): string {
  const { type = 'object', items, prefixItems } = schema
  const of = (one: Json): string => {
    switch (one) {
      case 'string':
      case 'boolean':
      case 'null':
        return one
      case 'integer':
      case 'number':
        return 'number'
      case 'array':
        return Array.isArray(prefixItems) ? 'unknown[]' : `${grouped(toType(items, place))}[]`
      case 'object':
        return objectType(schema, place)
      default:
        return 'unknown'
    }
  }
  return Array.isArray(type) ? grouped(unionOf(type, of)) : of(type)
}

function objectType(
  { properties, required, additionalProperties: others }: JsonObject,
  place: Place,
): string {
  const all = Object.entries(isJsonObject(properties) ? properties : {})
  if (all.length === 0)
    return others === false
      ? '{}'
      : `Record<string, ${isJsonObject(others) ? toType(others, place) : 'unknown'}>`
  const needed = new Set(Array.isArray(required) ? required : [])
  const members = all.slice(0, maxMembers).map(([name, schema]) => {
    const { description } = isJsonObject(schema) ? schema : {}
    const note = typeof description === 'string' ? toComment(description, maxNoteChars) : ''
    const mark = needed.has(name) ? '' : '?'
    return `${keyOf(name)}${mark}: ${toType(schema, place)}${note === '' ? '' : ` /* ${note} */`}`
  })
  if (all.length > maxMembers) members.push('[more: string]: unknown')
  return `{ ${members.join('; ')} }`
}

/** The target of a reference within the same schema. */
function referred(ref: string, root: JsonSchema): Json | undefined {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined
  return ref
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<Json | undefined>(
      (at, part) => (isJsonObject(at) && Object.hasOwn(at, part) ? at[part] : undefined),
      root,
    )
}

function unionOf<T extends Json>(values: readonly T[], of: (value: T) => string): string {
  if (values.length > maxMembers) return 'unknown'
  const types = [...new Set(values.map(of))]
  return types.includes('unknown') ? 'unknown' : types.join(' | ') || 'never'
}

const grouped = (type: string): string => (/ [|&] /.test(type) ? `(${type})` : type)

const literal = (value: Json | undefined): string =>
  typeof value === 'object' && value !== null ? 'unknown' : quoted(value ?? null)

/** As JSON, with hidden characters as codes. */
const quoted = (value: Json): string => withCodes(JSON.stringify(value))

const isIdentifier = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name)
const keyOf = (name: string): string => (isIdentifier(name) ? name : quoted(name))
const memberOf = (name: string): string => (isIdentifier(name) ? `.${name}` : `[${quoted(name)}]`)

/** One line of text that cannot close the comment around it. */
function toComment(text: string, maxChars: number): string {
  return shortened(toVisible(text.replace(/\s+/g, ' ').trim()).replaceAll('*/', '* /'), maxChars)
}
