import { changedLimits } from '#contracts/routes/request-limits.ts'
import { decisionRequest, messageRequest } from '#runtime/session/types/runs-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Limits } from '#contracts/lease.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import { toLimits } from '#platform/routes/limits.ts'
import { parseFields } from '#platform/routes/validate.ts'

/** The text that a run is given on its way. Throws `request_invalid`. */
export function parseMessageRequest(body: JsonObject): string {
  return parseFields(messageRequest, body).message
}

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
