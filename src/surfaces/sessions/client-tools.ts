import * as z from 'zod'
import type { JsonObject } from '#contracts/json.ts'
import type { ToolDefinition } from '#contracts/model.ts'

const maxTools = 64
const maxDescriptionChars = 4_000
const maxSchemaChars = 16_000
/** All of it is in every request to the model. */
const maxTotalChars = 200_000
const ownPrefix = 'isola__'

const inputSchema = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON Schema object',
  )
  .refine(
    (schema) => (schema['type'] ?? 'object') === 'object',
    'must describe an object: a tool takes named arguments',
  )
  .refine(
    (schema) => sizeOf(schema) <= maxSchemaChars,
    `is longer than ${maxSchemaChars} characters`,
  )

const clientTool = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')
    .refine((name) => !name.startsWith(ownPrefix), `must not begin with ${ownPrefix}`),
  description: z.string().min(1).max(maxDescriptionChars),
  inputSchema,
})

/** Tools that the client runs itself: a call of one parks the run until its result is sent. */
export const clientTools = z
  .array(clientTool)
  .max(maxTools)
  .superRefine((tools, context) => {
    const seen = new Set<string>()
    for (const [index, { name }] of tools.entries()) {
      if (seen.has(name)) {
        const message = 'is the name of another tool in this list'
        context.addIssue({ code: 'custom', path: [index, 'name'], message })
      }
      seen.add(name)
    }
    if (sizeOf(tools) > maxTotalChars) {
      const message = `are longer than ${maxTotalChars} characters together`
      context.addIssue({ code: 'custom', path: [], message })
    }
  }) satisfies z.ZodType<readonly ToolDefinition[]>

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length
}
