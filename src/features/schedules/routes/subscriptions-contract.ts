import * as z from 'zod'
import { slotStates } from '#contracts/schedule.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { pauseRequest, schedulesQuery } from '#contracts/routes/schedules-requests.ts'
import { firingsQuery, subscriptionRequest } from './subscriptions-requests.ts'
import { deliverTo, slotDelivery } from './schedules-contract.ts'
import { atMs, count, flag, object, text, usd } from '#contracts/routes/shapes.ts'

const subscription = z
  .object({
    id: text.describe('`sub_` and 22 characters.'),
    owner: text.describe('Whose object keeps it: `principal:<name>` or `plugin:<id>`.'),
    principal: text.describe('In whose name it works.'),
    name: text,
    state: z.enum(['active', 'paused']),
    paused: z.object({ atMs, reason: text, by: text }).optional(),
    event: text,
    where: object.optional(),
    of: z.enum(['own', 'everybody']),
    agent: text,
    task: text,
    model: text.optional(),
    session: text.optional(),
    ttlMinutes: count,
    maxDepth: count,
    limits: object.optional(),
    daily: z.object({ runs: count, tokens: count.optional(), costUsd: usd.optional() }),
    stopAfterFailures: count,
    deliver: deliverTo,
    createdAtMs: atMs,
    failures: count.describe('In a row.'),
    today: z.object({ runs: count, tokens: count, costUsd: usd }),
  })
  .meta({ id: 'Subscription' })
export type SubscriptionListing = z.infer<typeof subscription>

const firing = z
  .object({
    atMs: atMs.describe('When it was heard.'),
    event: z.object({ id: text, name: text, principal: text, session: text, run: text }).optional(),
    trace: text.optional().describe('That of the whole chain: its correlation id.'),
    depth: count.optional().describe('How many runs events began one after the other.'),
    expiresAtMs: atMs.optional(),
    state: z.enum(slotStates),
    reason: text.optional(),
    count: count
      .optional()
      .describe('How many events it stands for: those skipped for the same reason within an hour.'),
    beganAtMs: atMs.optional(),
    endedAtMs: atMs.optional(),
    session: text.optional(),
    run: text.optional(),
    text: text.optional().describe('The beginning of what it said.'),
    tokens: count,
    costUsd: usd,
    delivery: slotDelivery.optional(),
  })
  .meta({ id: 'SubscriptionFiring' })
export type FiringListing = z.infer<typeof firing>

const id = 'The subscription’s id: `sub_` and 22 characters.'
const asItIs = { 200: { is: 'The subscription as it then is.', json: subscription } }

/** `/api/subscriptions…`. */
export const subscriptionContracts = {
  'GET /api/subscriptions': {
    summary: 'Lists subscriptions: your own.',
    query: schedulesQuery,
    replies: {
      200: {
        is: 'Your own, or those of others for operators and auditors; a moment old.',
        json: z.object({
          subscriptions: z.array(subscription),
          next: text.optional().describe('There may be more: send it as `after`.'),
        }),
      },
    },
    errors: [503],
  },
  'POST /api/subscriptions': {
    summary: 'Makes a subscription: events begin runs from then on.',
    headers: ['idempotency-key'],
    body: subscriptionRequest,
    replies: {
      200: { is: 'With `dryRun`: what would be made.', json: subscription },
      201: { is: 'The subscription.', headers: ['location'], json: subscription },
    },
    errors: [404, 409, 422, 503],
  },
  'GET /api/subscriptions/:id': {
    summary: 'A subscription.',
    params: { id },
    replies: { 200: { is: 'The subscription.', json: subscription } },
    errors: [503],
  },
  'DELETE /api/subscriptions/:id': {
    summary: 'Takes a subscription away, with its history. What has begun goes on.',
    params: { id },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors: [503],
  },
  'GET /api/subscriptions/:id/history': {
    summary: 'What became of the events that it heard, newest first.',
    params: { id },
    query: firingsQuery,
    replies: {
      200: {
        is: 'A row for each event.',
        json: z.object({
          firings: z.array(firing),
          next: text.optional().describe('There may be more: send it as `before`.'),
        }),
      },
    },
    errors: [503],
  },
  'POST /api/subscriptions/:id/pause': {
    summary: 'Pauses it: what is emitted meanwhile is not heard.',
    params: { id },
    body: pauseRequest,
    isBodyOptional: true,
    replies: asItIs,
    errors: [503],
  },
  'POST /api/subscriptions/:id/resume': {
    summary: 'Lets it hear again.',
    params: { id },
    body: noFields,
    isBodyOptional: true,
    replies: asItIs,
    errors: [503],
  },
} satisfies ApiContracts
