import * as z from 'zod'
import {
  historyQuery,
  noticesQuery,
  pauseRequest,
  scheduleChange,
  schedulesQuery,
  settingsRequest,
} from './types/schedule-requests.ts'
import { scheduleRequest } from '#contracts/schedule-requests.ts'
import { flag, text } from '#platform/routes/shapes.ts'
import type { Principal } from '#contracts/operations.ts'
import { keeperOf } from '#runtime/session/types/schedule.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { noBody } from '#platform/routes/answer.ts'
import { defaultListLimit, ofCallers } from '#platform/routes/queries.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { editSchedule } from './routes/edit.ts'
import { toListing, toSlotListing } from './routes/listing.ts'
import { makeSchedule, type MakeDeps } from './routes/make.ts'
import { askOf, changer, ownerOf, type ScheduleDeps } from '#runtime/session/requests/own.ts'
import { removeSchedule } from './routes/remove.ts'
import { madeSchedule, notice, schedule, settings, slot } from './routes/replies.ts'

const kind = 'schedule'
const params = { id: 'The schedule’s id: `sch_` and 22 characters.' }
const asItIs = { 200: { is: 'The schedule as it then is.', json: schedule } }
const errors = [503]
const next = text.optional()

/**
 * `/api/schedules…`, the caller's own; an operator's and (to read) an auditor's are those of every principal.
 * `/api/notices…` and `/api/settings`, the caller's own.
 */
export default [
  route('GET /api/schedules', {
    roles: sessionReaders,
    summary: 'Lists schedules with their next slots: your own.',
    query: schedulesQuery,
    replies: {
      200: {
        is: 'Your own as they are; those of others, for operators and auditors, a moment old.',
        json: z.object({
          schedules: z.array(schedule),
          next: next.describe('There may be more: send it as `after`.'),
        }),
      },
    },
    errors,
    handle: (deps: ScheduleDeps, { query, caller }) => listSchedules(deps, caller, query),
  }),
  route('POST /api/schedules', {
    roles: talkers,
    summary: 'Makes a schedule.',
    headers: ['idempotency-key'],
    body: scheduleRequest,
    replies: {
      200: { is: 'With `dryRun`: what would be made.', json: madeSchedule },
      201: { is: 'The schedule.', headers: ['location'], json: madeSchedule },
    },
    errors: [404, 409, 422, 503],
    handle: (deps: MakeDeps, request) => makeSchedule(deps, request),
  }),
  route('GET /api/schedules/:id', {
    roles: sessionReaders,
    summary: 'A schedule with its next slots.',
    params,
    replies: { 200: { is: 'The schedule.', json: schedule } },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const view = await askOf(deps, request, { kind, verb: 'show' })
      return toListing(view, deps.sources.clock.nowMs())
    },
  }),
  route('POST /api/schedules/:id', {
    roles: talkers,
    summary:
      'Changes what is named, and takes away what is null. Its next slot changes only with its times.',
    params,
    body: scheduleChange,
    replies: asItIs,
    errors: [404, 409, 503],
    handle: (deps: MakeDeps, request) => editSchedule(deps, request),
  }),
  route('DELETE /api/schedules/:id', {
    roles: talkers,
    summary: 'Takes a schedule away, with its history. What has begun goes on.',
    params,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors,
    handle: (deps: ScheduleDeps, request) => removeSchedule(deps, request, kind),
  }),
  route('GET /api/schedules/:id/history', {
    roles: sessionReaders,
    summary: 'What became of its slots, newest first.',
    params,
    query: historyQuery,
    replies: {
      200: {
        is: 'A row for each slot.',
        json: z.object({
          slots: z.array(slot),
          next: next.describe('There may be more: send it as `before`.'),
        }),
      },
    },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const { limit = defaultListLimit, before } = request.query
      const more = { limit, ...(before !== undefined && { beforeMs: before }) }
      const slots = await askOf(deps, request, { kind, verb: 'history', more })
      const last = slots.length === limit ? slots.at(-1) : undefined
      return { slots: slots.map(toSlotListing), ...(last && { next: String(last.slotMs) }) }
    },
  }),
  route('POST /api/schedules/:id/pause', {
    roles: talkers,
    summary: 'Pauses it: what is due meanwhile is skipped.',
    params,
    body: pauseRequest.optional(),
    replies: asItIs,
    errors,
    async handle(deps: ScheduleDeps, request) {
      const { reason = 'no reason was given' } = request.body
      const more = { reason, by: changer(request.by()) }
      const view = await askOf(deps, request, { kind, verb: 'pause', more })
      return toListing(view, deps.sources.clock.nowMs())
    },
  }),
  route('POST /api/schedules/:id/resume', {
    roles: talkers,
    summary: 'Lets it go on with the next slot.',
    params,
    body: noBody,
    replies: asItIs,
    errors,
    async handle(deps: ScheduleDeps, request) {
      const more = { by: changer(request.by()) }
      const view = await askOf(deps, request, { kind, verb: 'resume', more })
      return toListing(view, deps.sources.clock.nowMs())
    },
  }),
  route('POST /api/schedules/:id/run', {
    roles: talkers,
    summary: 'Fires it now, beside its slots. The same key meets the firing that is there.',
    params,
    headers: ['idempotency-key'],
    body: noBody,
    replies: { 202: { is: 'It is on its way.', json: slot } },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const key = readIdempotencyKey(request.raw.headers)
      const more = { by: changer(request.by()), ...(key !== undefined && { key }) }
      return toSlotListing(await askOf(deps, request, { kind, verb: 'run', more }))
    },
  }),
  route('GET /api/notices', {
    roles: talkers,
    summary: 'What schedules had to tell you, newest first.',
    query: noticesQuery,
    replies: { 200: { is: 'The last 200.', json: z.object({ notices: z.array(notice) }) } },
    errors,
    async handle({ schedules }: ScheduleDeps, { query, caller }) {
      const { limit = defaultListLimit } = query
      return { notices: await schedules.ask(ownerOf(caller), 'notices', { limit }) }
    },
  }),
  route('DELETE /api/notices/:notice', {
    roles: talkers,
    summary: 'Takes a notice away.',
    params: { notice: 'The notice’s id.' },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors,
    handle: ({ schedules }: ScheduleDeps, { params: { notice: id }, caller }) =>
      schedules.ask(ownerOf(caller), 'dismiss', { id }),
  }),
  route('GET /api/settings', {
    roles: talkers,
    summary: 'What holds for you wherever you are.',
    replies: { 200: { is: 'Your settings.', json: settings } },
    errors,
    handle: ({ schedules }: ScheduleDeps, { caller }) =>
      schedules.ask(ownerOf(caller), 'settings', {}),
  }),
  route('POST /api/settings', {
    roles: talkers,
    summary: 'Changes what is named.',
    body: settingsRequest,
    replies: { 200: { is: 'Your settings as they then are.', json: settings } },
    errors,
    handle({ schedules }: ScheduleDeps, { body: { timeZone, language }, caller }) {
      const set = {
        ...(timeZone !== undefined && { timeZone }),
        ...(language !== undefined && { language }),
      }
      return schedules.ask(ownerOf(caller), 'settings', { set })
    },
  }),
] as const

async function listSchedules(
  { schedules, sources }: ScheduleDeps,
  caller: Principal,
  query: z.output<typeof schedulesQuery>,
) {
  const { limit = defaultListLimit, after } = query
  const whose = ofCallers(caller, query.principal, 'schedules')
  const listed = schedules.list({ ...whose, limit, ...(after !== undefined && { after }) })
  const nowMs = sources.clock.nowMs()
  const toReply = (all: readonly Parameters<typeof toListing>[0][], following?: string) => ({
    schedules: all.map((one) => toListing(one, nowMs)),
    ...(following !== undefined && { next: following }),
  })
  if (whose.principal !== caller.id) {
    const all = await listed
    return toReply(all, all.length === limit ? all.at(-1)?.id : undefined)
  }
  // As they are now, with what a plugin's object keeps in the caller's name. A list that is away hides no own schedule.
  const own = ownerOf(caller)
  const [kept, elsewhere] = await Promise.all([
    schedules.ask(own, 'list', { limit }),
    listed.catch(() => []),
  ])
  return toReply([...kept, ...elsewhere.filter((one) => keeperOf(one) !== own)])
}
