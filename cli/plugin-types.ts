// isola plugin types: what a folder needs to be checked by itself, on any machine. types/ has the plugin API, that of
// tests, and the inputs of its tools, from their schemas.
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Manifest } from '../src/contracts/manifest/manifest.ts'
import { root } from '../scripts/toolchain.mjs'
import { typeFiles } from './author-files.ts'
import { buildFolder } from './plugin-build.ts'

/** A schema can ask for itself, and for much of itself. */
const maxDepth = 12
const maxParts = 5_000
type Fields = Readonly<Record<string, unknown>>
/** The whole schema of a type, and how much of it may still be looked at. */
interface Within {
  readonly whole: unknown
  partsLeft: number
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const nameOf = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
const union = (types: readonly string[]) =>
  types.length === 0 ? 'never' : [...new Set(types)].join(' | ')
const grouped = (type: string) => (/[|&]/.test(type) ? `(${type})` : type)

/** The description of a schema, as one line of a comment. */
const commentOf = ({ description }: Fields) =>
  typeof description === 'string' && description !== ''
    ? `/** ${description.replaceAll('*/', '* /').replace(/\s+/g, ' ').trim()} */ `
    : ''

function literal(value: unknown): string {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
    ? JSON.stringify(value)
    : 'unknown'
}

/** The TypeScript type of a JSON Schema; `unknown` where a type cannot say it. */
function toType(schema: unknown, within: Within, depth = 0): string {
  if (schema === false) return 'never'
  if (!isObject(schema) || depth > maxDepth || within.partsLeft-- <= 0) return 'unknown'
  const next = (inner: unknown) => toType(inner, within, depth + 1)
  if (typeof schema['$ref'] === 'string') return next(find(schema['$ref'], within.whole))
  if (Object.hasOwn(schema, 'const')) return literal(schema['const'])
  if (Array.isArray(schema['enum'])) return union(schema['enum'].map(literal))
  const choice = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(choice)) return union(choice.map(next))
  if (Array.isArray(schema['allOf']))
    return schema['allOf'].map((one: unknown) => grouped(next(one))).join(' & ')
  if (Array.isArray(schema['type']))
    return union(schema['type'].map((type: unknown) => next({ ...schema, type })))
  switch (schema['type']) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema['type']
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return Array.isArray(schema['prefixItems'])
        ? `readonly [${schema['prefixItems'].map(next).join(', ')}]`
        : `readonly ${grouped(next(schema['items'] ?? true))}[]`
    case 'object':
      return objectType(schema, next)
    default:
      return isObject(schema['properties']) ? objectType(schema, next) : 'unknown'
  }
}

function objectType(
  { properties, required, additionalProperties: rest }: Fields,
  next: (inner: unknown) => string,
): string {
  if (!isObject(properties))
    return `Readonly<Record<string, ${rest === false ? 'never' : next(rest ?? true)}>>`
  const members = Object.entries(properties).map(([name, schema]) => {
    const isRequired = Array.isArray(required) && required.includes(name)
    return `${commentOf(Object(schema))}readonly ${nameOf(name)}${isRequired ? '' : '?'}: ${next(schema)}`
  })
  return members.length === 0 ? 'Readonly<Record<string, never>>' : `{ ${members.join('; ')} }`
}

/** The schema that `#/$defs/name` stands for. */
function find(reference: string, whole: unknown): unknown {
  const keys = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  return reference.startsWith('#')
    ? keys.reduce<unknown>(
        (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
        whole,
      )
    : undefined
}

/** The module types/inputs.ts of a manifest. */
export function inputTypes({ contributes: { tools } }: Pick<Manifest, 'contributes'>): string {
  const lines = tools.map(
    ({ name, description, input_schema: schema }) =>
      `  ${commentOf({ description })}readonly ${nameOf(name)}: ` +
      `${toType(schema, { whole: schema, partsLeft: maxParts })}`,
  )
  return [
    '// Written by `isola plugin types` from plugin.yaml: do not edit.',
    '/** What each tool is given, by its name. */',
    lines.length === 0
      ? 'export type Inputs = Readonly<Record<string, never>>'
      : 'export interface Inputs {',
    ...(lines.length === 0 ? [] : [...lines, '}']),
    '',
  ].join('\n')
}

/** Writes types/. @returns The names of its files. */
export async function writeTypes(folder: string): Promise<string[]> {
  const { manifest } = await buildFolder(folder)
  const types = join(folder, 'types')
  mkdirSync(types, { recursive: true })
  if (realpathSync(types) !== join(realpathSync(folder), 'types'))
    throw new Error("types is a link out of the plugin's folder.")
  const copies = (['plugin', 'testing'] as const).map((name) => {
    const path = join(root, typeFiles[name])
    return [
      `${name}${/\.d\.m?ts$/.test(path) ? '.d' : ''}${extname(path)}`,
      readFileSync(path, 'utf8'),
    ]
  })
  const files: Readonly<Record<string, string>> = {
    ...Object.fromEntries(copies),
    'inputs.ts': inputTypes(manifest),
  }
  for (const [name, text] of Object.entries(files)) {
    // Never through a link: it could lead out of the folder.
    rmSync(join(types, name), { force: true })
    writeFileSync(join(types, name), text, { flag: 'wx' })
  }
  return Object.keys(files).map((name) => `types/${name}`)
}
