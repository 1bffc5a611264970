import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A schema of docs/openapi.json, as far as an example needs it. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly propertyNames?: Schema
}
interface Content {
  readonly content?: { readonly 'application/json'?: { readonly schema: Schema } }
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8'),
) as Document

/** `full`: each optional field and two items in a list. `bare`: what a reply must have, and no more. */
export type Size = 'full' | 'bare'
interface Within {
  readonly size: Size
  /** The names and indexes that lead here: all of a value follows from them. */
  readonly path: readonly (string | number)[]
  readonly refs: readonly string[]
}

function hash(path: readonly unknown[]): number {
  let sum = 7
  for (const char of path.join('/')) sum = (sum * 31 + char.charCodeAt(0)) % 99_991
  return sum
}

const isNull = ({ type, const: value }: Schema) => type === 'null' || value === null
const turnOf = ({ path }: Within) => Number(path.findLast((part) => typeof part === 'number') ?? 0)

function textOf(within: Within): string {
  const name = String(within.path.findLast((part) => typeof part === 'string'))
  const number = hash(within.path) % 1_000
  if (/^(url|resource|source)$/.test(name)) return `https://example.com/${name}-${number}`
  if (/hash$/i.test(name)) return hash(within.path).toString(16).padStart(5, '0').repeat(12)
  return `${name}-${number}`
}

function numberOf({ path }: Within, isWhole: boolean): number {
  const name = String(path.findLast((part) => typeof part === 'string'))
  if (/(at|since|until|next|slot)Ms$/i.test(name)) return 1_790_000_000_000 + hash(path) * 1_000
  return isWhole ? hash(path) % 5_000 : (hash(path) % 5_000) / 8
}

function fieldsOf(schema: Schema, within: Within): Record<string, unknown> {
  const { properties = {}, required = [], additionalProperties: rest, propertyNames } = schema
  const names = Object.keys(properties)
    .filter((name) => required.includes(name) || within.size === 'full')
    .toSorted()
  const named = names.map((name) => [
    name,
    exampleOf(properties[name] ?? {}, { ...within, path: [...within.path, name] }),
  ])
  const others = propertyNames?.enum ?? ['one', 'two']
  const more =
    typeof rest === 'object' && within.size === 'full'
      ? others.map((name) => [
          name,
          exampleOf(rest, { ...within, path: [...within.path, String(name)] }),
        ])
      : []
  return Object.fromEntries([...named, ...more].filter(([, value]) => value !== undefined))
}

/** One of several schemas: for a bare example none, where there may be none. */
function exampleOfOne(all: readonly Schema[], within: Within): unknown {
  const choices = all.filter((one) => !isNull(one))
  if (within.size === 'bare' && choices.length < all.length) return null
  return exampleOf(choices[turnOf(within) % choices.length] ?? {}, within)
}

/** A value that a schema allows, the same each time; undefined where it would go round in circles. */
function exampleOf(schema: Schema, within: Within): unknown {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    if (within.refs.filter((one) => one === name).length > 1) return undefined
    const target = document.components.schemas[name] ?? {}
    return exampleOf(target, { ...within, refs: [...within.refs, name] })
  }
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[turnOf(within) % schema.enum.length]
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return exampleOfOne(choices, within)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object':
      return fieldsOf(schema, within)
    case 'array':
      return (within.size === 'full' ? [0, 1] : [])
        .map((index) => exampleOf(schema.items ?? {}, { ...within, path: [...within.path, index] }))
        .filter((item) => item !== undefined)
    case 'string':
      return textOf(within)
    case 'integer':
    case 'number':
      return numberOf(within, type === 'integer')
    case 'boolean':
      return hash(within.path) % 2 === 0
    default:
      return within.size === 'full' ? { any: textOf(within) } : null
  }
}

/** The operation of a request: a path without parameters comes before one with them. */
export function operationOf(method: string, pathname: string) {
  const found = Object.entries(document.paths)
    .filter(([path, own]) => {
      const pattern = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^{}]+\}/g, '[^/]+')
      return Object.hasOwn(own, method.toLowerCase()) && new RegExp(`^${pattern}$`).test(pathname)
    })
    .toSorted(([one], [other]) => one.split('{').length - other.split('{').length)[0]
  const operation = found?.[1][method.toLowerCase()]
  return found && operation ? { path: found[0], operation } : undefined
}

/** The names that the query or the JSON body of a route may have. */
export function fieldsOfRoute(route: string): readonly string[] {
  const [method = '', path = ''] = route.split(' ')
  const found = operationOf(method, path.replace(/:(\w+)/g, 'x'))
  if (!found) throw new Error(`${route} is not in docs/openapi.json.`)
  const { parameters = [], requestBody } = found.operation
  const namesIn = (schema: Schema = {}): readonly string[] => [
    ...Object.keys(schema.properties ?? {}),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(namesIn),
    ...(schema.$ref
      ? namesIn(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''])
      : []),
  ]
  const query = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  return [...query, ...namesIn(requestBody?.content?.['application/json']?.schema)]
}

const pageMarks: ReadonlySet<string> = new Set(['next', 'earlier', 'moreChildren'])

/** A list ends: the second page of anything names no third. */
const withoutPages = (reply: unknown): unknown =>
  JSON.parse(JSON.stringify(reply), (_key, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).filter(([name]) => !pageMarks.has(name)))
      : value,
  )

/** An example of what the server answers to a request; undefined where there is no such route. */
export function replyTo(
  method: string,
  pathname: string,
  { size, isLater }: { readonly size: Size; readonly isLater: boolean },
): unknown {
  const found = operationOf(method, pathname)
  if (!found) return undefined
  const schema = Object.entries(found.operation.responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]) => content?.['application/json']?.schema ?? [])[0]
  if (!schema) return undefined
  const reply = exampleOf(schema, { size, path: [found.path], refs: [] })
  return isLater ? withoutPages(reply) : reply
}
