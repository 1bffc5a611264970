import * as z from 'zod'
import type { Json } from '#contracts/json.ts'
import { clientTools } from '#surfaces/sessions/client-tools.ts'
import { runLimits } from '#contracts/limits.ts'
import { personaName } from '../types/query-fields.ts'

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
