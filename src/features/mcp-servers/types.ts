import * as z from 'zod'
import type { ForeignFields } from '#contracts/foreign-json.ts'
import { isFields } from '#contracts/foreign-json.ts'

/**
 * A remote server's claim about its tool, by the specification: a tool that claims neither to only read nor to
 * destroy nothing may destroy (`presumed`).
 * @see https://modelcontextprotocol.io/specification, ToolAnnotations: the default of `destructiveHint` is true
 */
export function remoteToolDestroys(annotations: unknown): boolean | 'presumed' {
  const { destructiveHint, readOnlyHint } = Object(annotations) as {
    readonly destructiveHint?: unknown
    readonly readOnlyHint?: unknown
  }
  if (typeof destructiveHint === 'boolean') return destructiveHint
  return readOnlyHint === true ? false : 'presumed'
}

/** The fields of a foreign object that say something: a `null` is as good as absent. Nothing of what is no object. */
export const fieldsOf = (value: unknown): ForeignFields =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null))
    : {}

/** So deep goes what is known by its fields: below is what the other side made up itself. */
const maxDepth = 12

/** Without fields that are null, at any depth: for what gives no null a meaning. */
export function withoutNulls(value: unknown, depth = 0): unknown {
  if (depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((one: unknown) => withoutNulls(one, depth + 1))
  if (!isFields(value)) return value
  const parts = Object.entries(fieldsOf(value))
  return Object.fromEntries(parts.map(([key, part]) => [key, withoutNulls(part, depth + 1)]))
}

const typeNames = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const

const typeName = z.enum(typeNames, `must be one of ${typeNames.join(', ')}`)

/** The fields of a schema that a model service checks; other fields are for the model to read. */
const fields = {
  type: z.union([typeName, z.array(typeName).min(1)]).optional(),
  required: z.array(z.string()).optional(),
  enum: z.array(z.unknown()).optional(),
  $ref: z.string().optional(),
}

const part: z.ZodType<unknown> = z.lazy(() => z.union([jsonSchema, z.boolean()]))

const parts = z.record(z.string(), part).optional()

const list = z.array(part).min(1).optional()

/** A JSON Schema by its shape. */
export const jsonSchema = z.looseObject({
  ...fields,
  properties: parts,
  $defs: parts,
  definitions: parts,
  items: z.union([part, z.array(part)]).optional(),
  additionalProperties: part.optional(),
  not: part.optional(),
  allOf: list,
  anyOf: list,
  oneOf: list,
})

/**
 * The path of the fault in a schema (`properties.a.type`); empty if the value is no schema at all, `undefined` if it
 * has no fault.
 */
export function schemaFault(schema: unknown): string | undefined {
  const { error } = jsonSchema.safeParse(schema)
  return error && deepest(error.issues).map(String).join('.')
}

/** Through the unions of a schema and a boolean. */
function deepest([issue]: readonly z.core.$ZodIssue[]): readonly PropertyKey[] {
  if (issue?.code !== 'invalid_union') return issue?.path ?? []
  const [inner = []] = issue.errors.map(deepest).toSorted((a, b) => b.length - a.length)
  return [...issue.path, ...inner]
}

/** All texts of a JSON value, names of properties too. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return Object.entries(value).flatMap(([name, part]) => [name, ...textsIn(part)])
}
