import * as z from 'zod'
import type { JsonObject } from '#contracts/json.ts'

/** Collects the schemas that have a name, of replies: each stands in the document once. */
export type NamedSchemas = Record<string, JsonObject>

/**
 * A schema as the document has it: of a request what may be sent, of a reply what comes. A reply may have more than it
 * names, since fields are added at any time.
 */
export function toSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  named: NamedSchemas,
): JsonObject {
  const {
    $schema: _,
    $defs,
    ...made
  } = z.toJSONSchema(schema, {
    io,
    // A check or transform by a function has no form in JSON Schema: its description stands beside it.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => tidy(jsonSchema as Record<string, unknown>, io),
  })
  for (const [name, one] of Object.entries($defs ?? {})) named[name] = toReferences(one)
  return toReferences(made)
}

function tidy(schema: Record<string, unknown>, io: 'input' | 'output'): void {
  delete schema['readOnly']
  if (io === 'output' && schema['additionalProperties'] === false)
    delete schema['additionalProperties']
  // Every integer of JavaScript is within them.
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum']
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum']
}

/** Names of schemas are those of the whole document. Made of plain JSON, so nothing is lost on the way. */
const toReferences = (schema: object): JsonObject =>
  JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'),
  ) as JsonObject
