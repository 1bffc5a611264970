import * as z from 'zod'
import { roles } from '#contracts/keys.ts'
import { refuseHidden } from '#contracts/visible-text.ts'
import { listLimit } from '#contracts/query-fields.ts'
import { personaName } from '#runtime/session/requests/session-requests.ts'
import { principalName } from '../types/keys.ts'

const maxDurationMs = 10 * 365 * 86_400_000
const maxGraceMs = 30 * 86_400_000
const names = z
  .array(z.string().min(1).max(200))
  .min(1, 'must name one at least; leave it out for all')
  .max(200)
  .superRefine(refuseHidden('line'))
const dailyTokens = z.int().min(0).max(1e15)
const dailyCostUsd = z.number().min(0).max(1_000_000)
const end = {
  expiresInMs: z.int().min(1).max(maxDurationMs).optional(),
  expiresAtMs: z.int().min(1).max(8.64e15).optional(),
}

/** `GET /api/operator/keys`. */
export const keysQuery = z.strictObject({
  principal: principalName.optional(),
  limit: listLimit.optional(),
})

/** `POST /api/operator/keys`: with a role for a new principal, without a role another key of an existing one. */
export const addKeyRequest = z.strictObject({
  principal: principalName,
  role: z.enum(roles, `must be one of ${roles.join(', ')}`).optional(),
  agents: names.optional(),
  models: names.optional(),
  limits: z
    .strictObject({ dailyTokens: dailyTokens.optional(), dailyCostUsd: dailyCostUsd.optional() })
    .optional(),
  persona: personaName.exactOptional(),
  ...end,
})

/** `POST /api/operator/principals/:principal`: an omitted field stays, `null` lifts its limit. */
export const changePrincipalRequest = z.strictObject({
  role: addKeyRequest.shape.role,
  agents: names.nullish(),
  models: names.nullish(),
  limits: z
    .strictObject({ dailyTokens: dailyTokens.nullish(), dailyCostUsd: dailyCostUsd.nullish() })
    .optional(),
})

/** `POST /api/operator/keys/:key/rotate`. */
export const rotateKeyRequest = z.strictObject({
  graceMs: z.int().min(0).max(maxGraceMs).optional(),
  ...end,
})

/** `GET /api/operator/grants`. */
export const grantsQuery = z.strictObject({
  principal: z.string().min(1).max(64).optional(),
  limit: listLimit.optional(),
})
