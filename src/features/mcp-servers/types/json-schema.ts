import * as z from 'zod'

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
