import * as z from 'zod'
import { slotStates } from '#contracts/schedule.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import {
  historyQuery,
  noticesQuery,
  pauseRequest,
  scheduleChange,
  scheduleRequest,
  schedulesQuery,
  settingsRequest,
} from '#contracts/routes/schedules-requests.ts'
import { atMs, count, flag, object, text, usd, warnings } from '#contracts/routes/shapes.ts'

const when = z.union([
  z.object({ cron: text, timeZone: text }),
  z.object({ everyMs: count, anchorMs: atMs }),
  z.object({ atMs: z.array(atMs) }),
])
export const deliverTo = z.object({
  to: z.enum(['none', 'principal', 'session', 'webhook']),
  session: text.optional(),
  url: text.optional(),
})

const schedule = z
  .object({
    id: text.describe('`sch_` and 22 characters.'),
    owner: text.describe(
      'Whose object keeps it: `principal:<name>`, `plugin:<id>` or `agent:<id>`.',
    ),
    principal: text.describe('In whose name it works.'),
    name: text,
    state: z.enum(['active', 'paused', 'over']).describe('`over`: it is never due again.'),
    paused: z.object({ atMs, reason: text, by: text }).optional(),
    when,
    work: z.object({
      agent: text,
      task: text.optional(),
      model: text.optional(),
      tool: text.optional(),
      input: object.optional(),
    }),
    check: z.object({ tool: text, input: object, has: text.optional() }).optional(),
    catchUp: z.enum(['skip', 'once', 'all']),
    notAfterMs: count.optional(),
    overlap: z.enum(['skip', 'queue']),
    jitterMs: count,
    limits: object.optional(),
    daily: z.object({ runs: count, tokens: count.optional(), costUsd: usd.optional() }),
    stopAfterFailures: count,
    deliver: deliverTo,
    heartbeat: z.literal(true).optional(),
    createdAtMs: atMs,
    failures: count.describe('In a row.'),
    today: z.object({ runs: count, tokens: count, costUsd: usd }),
    next: z.array(atMs).describe('Its next slots; to ask for them moves none.'),
  })
  .meta({ id: 'Schedule' })
const madeSchedule = schedule.extend({ warnings }).meta({ id: 'MadeSchedule' })
export type ScheduleListing = z.infer<typeof schedule>

export const slotDelivery = z.object({
  to: text,
  state: z.enum(['waiting', 'delivered', 'failed']),
  attempts: count,
  error: text.optional(),
  atMs: atMs.optional(),
})

const slot = z
  .object({
    slotMs: atMs.describe('The moment that it stands for.'),
    state: z.enum(slotStates),
    reason: text.optional(),
    isManual: z.literal(true).optional().describe('Somebody asked for it, beside its slots.'),
    beganAtMs: atMs.optional(),
    endedAtMs: atMs.optional(),
    session: text.optional(),
    run: text.optional(),
    text: text.optional().describe('The beginning of what it said.'),
    tokens: count,
    costUsd: usd,
    delivery: slotDelivery.optional(),
  })
  .meta({ id: 'ScheduleSlot' })
export type SlotListing = z.infer<typeof slot>

const notice = z
  .object({
    id: text,
    atMs,
    schedule: text,
    name: text,
    text,
    slotMs: atMs.optional(),
    session: text.optional(),
  })
  .meta({ id: 'Notice' })
const settings = z.object({
  timeZone: text,
  language: text.optional().describe('What schedules tell you is in it.'),
})

const id = 'The schedule’s id: `sch_` and 22 characters.'
const asItIs = { 200: { is: 'The schedule as it then is.', json: schedule } }

/** `/api/schedules…`, `/api/notices…` and `/api/settings`. */
export const scheduleContracts = {
  'GET /api/schedules': {
    summary: 'Lists schedules with their next slots: your own.',
    query: schedulesQuery,
    replies: {
      200: {
        is: 'Your own as they are; those of others, for operators and auditors, a moment old.',
        json: z.object({
          schedules: z.array(schedule),
          next: text.optional().describe('There may be more: send it as `after`.'),
        }),
      },
    },
    errors: [503],
  },
  'POST /api/schedules': {
    summary: 'Makes a schedule.',
    headers: ['idempotency-key'],
    body: scheduleRequest,
    replies: {
      200: { is: 'With `dryRun`: what would be made.', json: madeSchedule },
      201: { is: 'The schedule.', headers: ['location'], json: madeSchedule },
    },
    errors: [404, 409, 422, 503],
  },
  'GET /api/schedules/:id': {
    summary: 'A schedule with its next slots.',
    params: { id },
    replies: { 200: { is: 'The schedule.', json: schedule } },
    errors: [503],
  },
  'POST /api/schedules/:id': {
    summary:
      'Changes what is named, and takes away what is null. Its next slot changes only with its times.',
    params: { id },
    body: scheduleChange,
    replies: asItIs,
    errors: [404, 409, 503],
  },
  'DELETE /api/schedules/:id': {
    summary: 'Takes a schedule away, with its history. What has begun goes on.',
    params: { id },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors: [503],
  },
  'GET /api/schedules/:id/history': {
    summary: 'What became of its slots, newest first.',
    params: { id },
    query: historyQuery,
    replies: {
      200: {
        is: 'A row for each slot.',
        json: z.object({
          slots: z.array(slot),
          next: text.optional().describe('There may be more: send it as `before`.'),
        }),
      },
    },
    errors: [503],
  },
  'POST /api/schedules/:id/pause': {
    summary: 'Pauses it: what is due meanwhile is skipped.',
    params: { id },
    body: pauseRequest,
    isBodyOptional: true,
    replies: asItIs,
    errors: [503],
  },
  'POST /api/schedules/:id/resume': {
    summary: 'Lets it go on with the next slot.',
    params: { id },
    body: noFields,
    isBodyOptional: true,
    replies: asItIs,
    errors: [503],
  },
  'POST /api/schedules/:id/run': {
    summary: 'Fires it now, beside its slots. The same key meets the firing that is there.',
    params: { id },
    headers: ['idempotency-key'],
    body: noFields,
    isBodyOptional: true,
    replies: { 202: { is: 'It is on its way.', json: slot } },
    errors: [503],
  },
  'GET /api/notices': {
    summary: 'What schedules had to tell you, newest first.',
    query: noticesQuery,
    replies: { 200: { is: 'The last 200.', json: z.object({ notices: z.array(notice) }) } },
    errors: [503],
  },
  'DELETE /api/notices/:notice': {
    summary: 'Takes a notice away.',
    params: { notice: 'The notice’s id.' },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors: [503],
  },
  'GET /api/settings': {
    summary: 'What holds for you wherever you are.',
    replies: { 200: { is: 'Your settings.', json: settings } },
    errors: [503],
  },
  'POST /api/settings': {
    summary: 'Changes what is named.',
    body: settingsRequest,
    replies: { 200: { is: 'Your settings as they then are.', json: settings } },
    errors: [503],
  },
} satisfies ApiContracts
