import { scheduleRequest, laterTask } from '#contracts/schedule-requests.ts'
import * as z from 'zod'
import { eventPattern, eventPatternProblem, maxTtlMs, refuseDeaf } from '#contracts/event-bus.ts'
import { refuseHidden } from '#contracts/visible-text.ts'
import { runLimits } from '#contracts/limits.ts'
import { listLimit, digits } from '#contracts/query-fields.ts'

const { name, agent, model, stopAfterFailures, deliver, dryRun, daily } = scheduleRequest.shape

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
    agent,
    model,
    session: z
      .string()
      .min(1)
      .max(200)
      .superRefine(refuseHidden('line'))
      .optional()
      .describe('A named session for all runs.'),
    name: name.describe('What it is called.'),
    ttlMinutes: z
      .int()
      .min(1)
      .max(maxTtlMs / 60_000)
      .optional()
      .describe('So long after an event runs may begin; 60 if absent.'),
    maxDepth: z.int().min(1).max(16).optional().describe('Runs one after the other; 4 if absent.'),
    limits: runLimits.optional().describe('Of each run.'),
    daily: daily.describe('Of a day (UTC): runs (100), tokens (500,000), cost.'),
    stopAfterFailures,
    deliver,
    dryRun: dryRun.describe('Nothing is made: what it would be.'),
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
