import * as z from 'zod'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { changedLimits } from '#contracts/routes/request-limits.ts'
import { cancelRequest, decisionRequest, messageRequest, runRequest } from './runs-requests.ts'
import { runsQuery } from './sessions-requests.ts'
import { receipt, runState, runView, usageSum } from './run-view-contract.ts'
import { atMs, count, text } from '#contracts/routes/shapes.ts'

const listed = z
  .object({
    id: text,
    session: text,
    agent: text,
    principal: text,
    state: runState,
    startedAtMs: atMs,
    usage: usageSum
      .optional()
      .describe('While it works only where it is the first of its session.'),
    links: z.object({ run: text, events: text, cancel: text }).describe('POST to `cancel`.'),
  })
  .meta({ id: 'RunListing' })
export type RunListing = z.infer<typeof listed>

const id = 'The session’s id: `ses_` and 22 characters.'
const run = 'The run’s id: `run_` and 22 characters.'
const asItIs = { 200: { is: 'The run as it then is.', json: runView } }

/** `/api/sessions/:id/runs…`. */
export const runContracts = {
  'GET /api/runs': {
    summary: 'Lists the last run of each session: those under way first.',
    query: runsQuery,
    replies: {
      200: {
        is: 'A page of the list.',
        json: z.object({
          runs: z.array(listed),
          next: text.optional().describe('There may be more: send it as `after`.'),
        }),
      },
    },
  },
  'GET /api/runs/:run': {
    summary:
      'A run, by its id alone: one of the newest 50,000 on the record, a moment after it began.',
    params: { run },
    replies: { 200: { is: 'The run, with its session.', json: runView } },
  },
  'POST /api/sessions/:id/runs': {
    summary: 'Starts a run.',
    params: { id },
    headers: ['idempotency-key', 'traceparent'],
    body: runRequest,
    replies: {
      200: { is: 'With `wait`: the run, which is over.', headers: ['location'], json: runView },
      202: {
        is: 'A receipt; with `wait` the run, which waits for somebody.',
        headers: ['location', 'idempotent-replayed'],
        json: z.union([receipt, runView]),
      },
    },
    errors: [409, 422, 502, 504],
  },
  'GET /api/sessions/:id/runs/:run': {
    summary: 'A run, with its result once it is over.',
    params: { id, run },
    replies: { 200: { is: 'The run.', json: runView } },
  },
  'POST /api/sessions/:id/runs/:run/cancel': {
    summary: 'Cancels a run. One that ended stays as it ended.',
    params: { id, run },
    body: cancelRequest,
    isBodyOptional: true,
    replies: asItIs,
    errors: [409],
  },
  'POST /api/sessions/:id/runs/:run/messages': {
    summary: 'Gives a run another message, which its next turn reads.',
    params: { id, run },
    headers: ['idempotency-key'],
    body: messageRequest,
    replies: {
      202: {
        is: 'It was taken in.',
        json: z.object({
          session: text,
          run: text,
          place: count.describe('Among the messages that this run was given, from 1.'),
        }),
      },
    },
    errors: [409, 422],
  },
  'POST /api/sessions/:id/runs/:run/decisions': {
    summary: 'Settles a call that waits. The same again changes nothing.',
    params: { id, run },
    body: decisionRequest,
    replies: asItIs,
    errors: [409],
  },
  'POST /api/sessions/:id/runs/:run/limits': {
    summary: 'Raises or lowers what a run may spend; one that waits for it goes on.',
    params: { id, run },
    body: changedLimits,
    replies: asItIs,
    errors: [409],
  },
} satisfies ApiContracts
