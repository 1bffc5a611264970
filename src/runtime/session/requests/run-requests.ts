import * as z from 'zod'
import type { Json, JsonObject } from '#contracts/json.ts'
import { runLimits } from '#contracts/limits.ts'
import { personaName } from './session-requests.ts'
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
const clientTools = z
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

const toolPattern = z
  .string()
  .regex(/^(\*|[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,62}__\*)$/, 'must be a tool, <plugin>__* or *')

/** `POST /api/sessions/:id/runs`. */
export const runRequest = z.strictObject({
  task: z.string().min(1),
  context: z.string().min(1).optional(),
  model: z.string().min(1).max(200).optional(),
  parameters: z
    .strictObject({
      temperature: z.number().min(0).max(2).optional(),
      topP: z.number().min(0).max(1).optional(),
      maxOutputTokens: z.int().min(1).optional(),
      stop: z.array(z.string()).max(4).optional(),
      seed: z.int().optional(),
      timeoutMs: z.int().min(1).optional(),
    })
    .optional(),
  limits: runLimits.optional(),
  requireApproval: z.array(toolPattern).max(100).optional(),
  clientTools: clientTools.optional(),
  mayAsk: z.boolean().optional(),
  persona: personaName.exactOptional(),
  wait: z.boolean().optional(),
})

/** `POST …/runs/:run/cancel`. */
export const cancelRequest = z.strictObject({ reason: z.string().min(1).max(500).optional() })

/** `POST …/runs/:run/messages`. */
export const messageRequest = z.strictObject({ message: z.string().min(1).max(500_000) })

const call = z.string().min(1).max(200)
export const hash = z.string().min(1).max(200)
const reason = z.string().min(1).max(4_000)
const output = z.custom<Json>((value) => value !== undefined, 'any JSON: what came of the call')

const also = z
  .enum(['session', 'always'])
  .exactOptional()
  .describe('Also later calls of this shape: in this session, or in all of its principal.')
const free = z
  .array(z.string().min(1).max(200))
  .max(50)
  .exactOptional()
  .describe(
    'With `also`: fields of the arguments that may change; all others are fixed as they are.',
  )
const days = z
  .int()
  .min(1)
  .max(365)
  .exactOptional()
  .describe('With `also`: how long it holds, 30 if absent.')

/** A yes to a call that waits. */
export const approval = {
  decision: z.literal('approve'),
  argsHash: hash.exactOptional(),
  also,
  free,
  days,
}
/** A no. */
export const denial = { decision: z.literal('deny'), message: reason.exactOptional() }

/** `POST …/runs/:run/decisions`. */
export const decisionRequest = z.discriminatedUnion(
  'decision',
  [
    z.strictObject({ call, ...approval }),
    z.strictObject({ call, ...denial }),
    z.strictObject({ call, decision: z.literal('result'), output, asksHash: hash.exactOptional() }),
    z.strictObject({ call, decision: z.literal('error'), message: reason }),
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union' ? 'must be approve, deny, result or error' : undefined,
  },
)
