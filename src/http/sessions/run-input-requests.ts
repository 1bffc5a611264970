import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Decision } from '#contracts/pause.ts'
import { runLimits, toLimits } from './limits.ts'
import { parseFields } from '../validate.ts'

const messageRequest = z.strictObject({ message: z.string().min(1).max(500_000) })

const call = z.string().min(1).max(200)
const hash = z.string().min(1).max(200)
const reason = z.string().min(1).max(4_000)
const output = z.custom<Json>((value) => value !== undefined, 'any JSON: what came of the call')
const decisionRequest = z.discriminatedUnion(
  'decision',
  [
    z.strictObject({
      call,
      decision: z.literal('approve'),
      argsHash: hash.exactOptional(),
    }),
    z.strictObject({ call, decision: z.literal('deny'), message: reason.exactOptional() }),
    z.strictObject({ call, decision: z.literal('result'), output, asksHash: hash.exactOptional() }),
    z.strictObject({ call, decision: z.literal('error'), message: reason }),
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union' ? 'must be approve, deny, result or error' : undefined,
  },
)

/** The text that a run is given on its way. Throws `request_invalid`. */
export function parseMessageRequest(body: JsonObject): string {
  return parseFields(messageRequest, body).message
}

/** They take the place of what an agent's author has set, so they end where those do. */
const changedLimits = runLimits.extend({
  maxDepth: z.int().min(0).max(16).optional(),
  maxConcurrency: z.int().min(1).max(64).optional(),
})

/** What a run may spend from now on, as in the request that began it. Throws `request_invalid`. */
export function parseLimitsRequest(body: JsonObject): Partial<Limits> {
  const limits = toLimits(parseFields(changedLimits, body))
  if (limits) return limits
  throw new IsolaError('request_invalid', 'Name a limit, such as maxTokens.')
}

/** A field that belongs to another kind of decision is refused like any unknown one. */
export function parseDecisionRequest(body: JsonObject): {
  readonly call: string
  readonly decision: Decision
} {
  const { call: waiting, ...decision } = parseFields(decisionRequest, body)
  return { call: waiting, decision }
}
