import * as z from 'zod'
import { usageKeys, moment } from '../types/operations.ts'
import { digits, listLimit, wantedName } from '#contracts/query-fields.ts'

const recordPlace = z
  .string()
  .regex(/^(\d{1,15}-)?\d{1,15}$/, 'must be the `next` or `last` of another page')

/** `GET /api/operator/audit`. */
export const auditQuery = z.strictObject({
  trace: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be a trace id: 32 lowercase hex characters')
    .optional(),
  session: z
    .string()
    .regex(/^(ses_[0-9A-Za-z]{22}|deployment)$/, 'must be a session id, or deployment')
    .optional(),
  principal: wantedName.optional(),
  agent: wantedName.optional(),
  type: z
    .string()
    .regex(/^[a-z_]{1,40}\*?$/, 'must be a type (tool_finished), or how it begins (tool_*)')
    .optional(),
  plugin: wantedName.optional(),
  since: moment.optional(),
  until: moment.optional(),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').optional(),
  limit: listLimit.optional(),
  after: recordPlace.optional(),
})

/** `GET /api/operator/models`. */
export const modelsQuery = z.strictObject({
  hours: digits(24 * 31)
    .refine((hours) => hours >= 1, 'must be 1 or more')
    .describe('How far back, 1 to 744 hours; 24 if absent.')
    .optional(),
})

/** `GET /api/operator/metrics`. */
export const metricsQuery = z.strictObject({
  since: moment.optional(),
  format: z.enum(['json', 'prometheus'], 'must be json or prometheus').optional(),
})

/** `GET /api/operator/usage` of a principal's day. */
export const dayQuery = z.strictObject({ principal: wantedName.optional() })

/** `GET /api/operator/usage` with a report on spending. */
export const usageQuery = z.strictObject({
  by: z.enum(usageKeys, `must be one of ${usageKeys.join(', ')}`),
  principal: wantedName.optional(),
  since: moment.optional(),
  until: moment.optional(),
  limit: listLimit.optional(),
})

/** `GET /api/usage`: the caller's own spending. */
export const ownUsageQuery = z.strictObject({
  by: usageQuery.shape.by.optional(),
  since: moment.optional(),
  until: moment.optional(),
  limit: listLimit.optional(),
})

/** `GET /api/operator/unconfirmed`. */
export const unconfirmedQuery = z.strictObject({
  principal: wantedName.optional(),
  since: moment.optional(),
  limit: listLimit.optional(),
  after: recordPlace.optional(),
})

/** The outcome of an attempt: nothing was spent, or the amount on the provider's bill. */
export const unconfirmedRequest = z
  .strictObject({
    outcome: z.enum(['released', 'spent'], 'must be released (it cost nothing) or spent'),
    tokens: z.int().min(0).describe('With `spent`: all that it holds if absent.').optional(),
    costUsd: z.number().min(0).describe('With `spent`: all that it holds if absent.').optional(),
  })
  .refine(
    ({ outcome, tokens, costUsd }) =>
      outcome === 'spent' || (tokens === undefined && costUsd === undefined),
    { path: ['outcome'], error: 'must be spent where an amount is given' },
  )

/** `GET /api/operator/runs`. */
export const givenUpQuery = z.strictObject({
  state: z.enum(['open', 'retried', 'dropped'], 'must be one of open, retried, dropped').optional(),
  limit: listLimit.optional(),
})
