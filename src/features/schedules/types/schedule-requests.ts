import * as z from 'zod'
import {
  scheduleRequest,
  check,
  notAfterMinutes,
  timeZone,
  laterTask,
} from '#contracts/schedule-requests.ts'
import { runLimits } from '#contracts/limits.ts'
import type { ScheduleRequestBody } from '#runtime/session/types/schedule.ts'
import { wantedName, listLimit, digits } from '#contracts/query-fields.ts'
import { refuseHidden } from '#contracts/visible-text.ts'
import { eventPattern, eventPatternProblem, maxTtlMs, refuseDeaf } from '#contracts/event-bus.ts'

const maxYears = 10

const { plugin: _, ...changeable } = scheduleRequest.shape

/** `POST /api/schedules/:id`: a given field is changed, a null field is removed. */
export const scheduleChange = z.strictObject({
  ...changeable,
  check: check.nullish(),
  notAfterMinutes: notAfterMinutes.nullish(),
  limits: runLimits.nullish(),
})

export type ScheduleChangeBody = z.infer<typeof scheduleChange>

/** The forms of `when` in a request. */
export type AskedWhen = NonNullable<ScheduleRequestBody['when']>

/** `GET /api/schedules`. */
export const schedulesQuery = z.strictObject({
  principal: wantedName.optional(),
  limit: listLimit.optional(),
  after: z.string().max(40).optional(),
})

/** `GET /api/schedules/:id/history`. */
export const historyQuery = z.strictObject({
  limit: listLimit.optional(),
  before: digits(maxYears * 366 * 86_400_000 + 4_102_444_800_000).optional(),
})

/** `POST /api/schedules/:id/pause`. */
export const pauseRequest = z.strictObject({
  reason: z.string().min(1).max(500).superRefine(refuseHidden('text')).optional(),
})

/** `GET /api/notices`. */
export const noticesQuery = z.strictObject({ limit: listLimit.optional() })

/** `POST /api/settings`. */
export const settingsRequest = z.strictObject({
  timeZone: timeZone.optional(),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'must be a language tag, such as de or pt-BR')
    .optional(),
})

/** `POST /api/subscriptions`. */
export const subscriptionRequest = z
  .strictObject({
    event: z
      .string()
      .regex(eventPattern, eventPatternProblem)
      .describe('`billing.paid`, `billing.*` or `isola.run_finished`.'),
    where: z
      .record(z.string().min(1).max(64), z.union([z.string().max(200), z.number(), z.boolean()]))
      .refine((where) => Object.keys(where).length <= 8, 'must have at most 8 fields')
      .superRefine(refuseHidden('line'))
      .optional()
      .describe('Fields of the payload that must be equal to these.'),
    of: z
      .enum(['own', 'everybody'])
      .optional()
      .describe(
        'Whose sessions, beside public events: `own` if absent; `everybody` for operators.',
      ),
    task: laterTask.describe('What an agent is asked, beside the event.'),
    agent: changeable.agent,
    model: changeable.model,
    session: z
      .string()
      .min(1)
      .max(200)
      .superRefine(refuseHidden('line'))
      .optional()
      .describe('A named session for all runs.'),
    name: changeable.name.describe('What it is called.'),
    ttlMinutes: z
      .int()
      .min(1)
      .max(maxTtlMs / 60_000)
      .optional()
      .describe('So long after an event runs may begin; 60 if absent.'),
    maxDepth: z.int().min(1).max(16).optional().describe('Runs one after the other; 4 if absent.'),
    limits: runLimits.optional().describe('Of each run.'),
    daily: changeable.daily.describe('Of a day (UTC): runs (100), tokens (500,000), cost.'),
    stopAfterFailures: changeable.stopAfterFailures,
    deliver: changeable.deliver,
    dryRun: changeable.dryRun.describe('Nothing is made: what it would be.'),
  })
  .superRefine(refuseDeaf)

export type SubscriptionRequestBody = z.infer<typeof subscriptionRequest>

/** `GET /api/subscriptions/:id/history`. */
export const firingsQuery = z.strictObject({
  limit: listLimit.optional(),
  before: digits(Number.MAX_SAFE_INTEGER).optional(),
  state: z
    .enum(['queued', 'running', 'done', 'failed', 'skipped'])
    .optional()
    .describe('`failed`: what was tried until it was given up.'),
})
