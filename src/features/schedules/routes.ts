import * as z from 'zod'
import {
  historyQuery,
  noticesQuery,
  pauseRequest,
  scheduleChange,
  schedulesQuery,
  settingsRequest,
  firingsQuery,
  subscriptionRequest,
  type SubscriptionRequestBody,
} from './types/schedule-requests.ts'
import { scheduleRequest } from '#contracts/schedule-requests.ts'
import { flag, text } from '#platform/routes/shapes.ts'
import type { Principal } from '#contracts/operations.ts'
import { keeperOf, type Schedule, type ScheduleView } from '#runtime/session/types/schedule.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { noBody } from '#platform/routes/answer.ts'
import { defaultListLimit, ofCallers } from '#platform/routes/queries.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import {
  editSchedule,
  makeSchedule,
  type MakeDeps,
  askOf,
  ownerOf,
  type ScheduleDeps,
  removeSchedule,
  keep,
  newId,
  toWork,
  type Kind,
} from './routes/make.ts'
import {
  toListing,
  toSlotListing,
  madeSchedule,
  notice,
  schedule,
  settings,
  slot,
  firing,
  subscription,
  toFiringListing,
  toSubscriptionListing,
} from './routes/replies.ts'
import { changer } from '#runtime/session/requests/own.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { toSubscriptionSpec } from './types/schedule-spec.ts'
import { toLimits } from '#platform/routes/limits.ts'
import type { RequestContext } from '#platform/routes/request.ts'

const next = text.optional()
const after = next.describe('There may be more: send it as `after`.')
const before = next.describe('There may be more: send it as `before`.')
const errors = [503]
const gone = { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } }

/** The verbs that schedules and subscriptions share, each resource with its own form of an answer. */
const verbsOf = <Listing extends object>(
  kind: Kind,
  toReply: (view: ScheduleView, nowMs: number) => Listing,
) => {
  const answer = async (deps: ScheduleDeps, view: ScheduleView) => {
    // The list that emitters read, before the answer where it can be: an event that is emitted from now on is heard.
    if (kind === 'subscription') await announce(deps, view)
    return toReply(view, deps.sources.clock.nowMs())
  }
  return {
    show: async (deps: ScheduleDeps, request: RequestContext) =>
      toReply(await askOf(deps, request, { kind, verb: 'show' }), deps.sources.clock.nowMs()),
    remove: (deps: ScheduleDeps, request: RequestContext) => removeSchedule(deps, request, kind),
    pause: async (
      deps: ScheduleDeps,
      request: RequestContext & { readonly body: { readonly reason?: string | undefined } },
    ) => {
      const { reason = 'no reason was given' } = request.body
      const more = { reason, by: changer(request.by()) }
      return answer(deps, await askOf(deps, request, { kind, verb: 'pause', more }))
    },
    resume: async (deps: ScheduleDeps, request: RequestContext) => {
      const more = { by: changer(request.by()) }
      return answer(deps, await askOf(deps, request, { kind, verb: 'resume', more }))
    },
    /** A page of its history, newest first. */
    history: async (
      deps: ScheduleDeps,
      request: RequestContext & { readonly query: z.output<typeof firingsQuery> },
    ) => {
      const { limit = defaultListLimit, before: beforeMs, state } = request.query
      const more = { limit, ...defined({ beforeMs, state }) }
      const slots = await askOf(deps, request, { kind, verb: 'history', more })
      const last = slots.length === limit ? slots.at(-1) : undefined
      return { slots, ...(last && { next: String(last.slotMs) }) }
    },
  }
}

const byClock = verbsOf('schedule', toListing)
const byEvents = verbsOf('subscription', toSubscriptionListing)

const announce = ({ schedules }: ScheduleDeps, one: Schedule) =>
  schedules.ask(keeperOf(one), 'poke', { schedules: [one] })

const scheduleParams = { id: 'The schedule’s id: `sch_` and 22 characters.' }
const ofSchedule = { 200: { is: 'The schedule as it then is.', json: schedule } }

const subscriptionParams = { id: 'The subscription’s id: `sub_` and 22 characters.' }
const ofSubscription = { 200: { is: 'The subscription as it then is.', json: subscription } }

/**
 * `/api/schedules…`, the caller's own; an operator's and (to read) an auditor's are those of every principal.
 * `/api/subscriptions…`: the same resource with another trigger. `/api/notices…` and `/api/settings`, the caller's own.
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
          next: after,
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
    handle: makeSchedule,
  }),
  route('GET /api/schedules/:id', {
    roles: sessionReaders,
    summary: 'A schedule with its next slots.',
    params: scheduleParams,
    replies: { 200: { is: 'The schedule.', json: schedule } },
    errors,
    handle: byClock.show,
  }),
  route('POST /api/schedules/:id', {
    roles: talkers,
    summary:
      'Changes what is named, and takes away what is null. Its next slot changes only with its times.',
    params: scheduleParams,
    body: scheduleChange,
    replies: ofSchedule,
    errors: [404, 409, 503],
    handle: editSchedule,
  }),
  route('DELETE /api/schedules/:id', {
    roles: talkers,
    summary: 'Takes a schedule away, with its history. What has begun goes on.',
    params: scheduleParams,
    replies: gone,
    errors,
    handle: byClock.remove,
  }),
  route('GET /api/schedules/:id/history', {
    roles: sessionReaders,
    summary: 'What became of its slots, newest first.',
    params: scheduleParams,
    query: historyQuery,
    replies: {
      200: {
        is: 'A row for each slot.',
        json: z.object({
          slots: z.array(slot),
          next: before,
        }),
      },
    },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const { slots, ...more } = await byClock.history(deps, request)
      return { slots: slots.map(toSlotListing), ...more }
    },
  }),
  route('POST /api/schedules/:id/pause', {
    roles: talkers,
    summary: 'Pauses it: what is due meanwhile is skipped.',
    params: scheduleParams,
    body: pauseRequest.optional(),
    replies: ofSchedule,
    errors,
    handle: byClock.pause,
  }),
  route('POST /api/schedules/:id/resume', {
    roles: talkers,
    summary: 'Lets it go on with the next slot.',
    params: scheduleParams,
    body: noBody,
    replies: ofSchedule,
    errors,
    handle: byClock.resume,
  }),
  route('POST /api/schedules/:id/run', {
    roles: talkers,
    summary: 'Fires it now, beside its slots. The same key meets the firing that is there.',
    params: scheduleParams,
    headers: ['idempotency-key'],
    body: noBody,
    replies: { 202: { is: 'It is on its way.', json: slot } },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const key = readIdempotencyKey(request.raw.headers)
      const more = { by: changer(request.by()), ...defined({ key }) }
      return toSlotListing(await askOf(deps, request, { kind: 'schedule', verb: 'run', more }))
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
    replies: gone,
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
      return schedules.ask(ownerOf(caller), 'settings', { set: defined({ timeZone, language }) })
    },
  }),
  route('GET /api/subscriptions', {
    roles: sessionReaders,
    summary: 'Lists subscriptions: your own.',
    query: schedulesQuery,
    replies: {
      200: {
        is: 'Your own, or those of others for operators and auditors; a moment old.',
        json: z.object({
          subscriptions: z.array(subscription),
          next: after,
        }),
      },
    },
    errors,
    async handle({ schedules, sources }: ScheduleDeps, { query, caller }) {
      const { limit = defaultListLimit } = query
      const whose = ofCallers(caller, query.principal, 'subscriptions')
      const from = defined({ after: query.after })
      const all = await schedules.list({ ...whose, ...from, limit, subscriptions: true })
      const nowMs = sources.clock.nowMs()
      return {
        subscriptions: all.map((one) => toSubscriptionListing(one, nowMs)),
        ...(all.length === limit && { next: all.at(-1)?.id }),
      }
    },
  }),
  route('POST /api/subscriptions', {
    roles: talkers,
    summary: 'Makes a subscription: events begin runs from then on.',
    headers: ['idempotency-key'],
    body: subscriptionRequest,
    replies: {
      200: { is: 'With `dryRun`: what would be made.', json: subscription },
      201: { is: 'The subscription.', headers: ['location'], json: subscription },
    },
    errors: [404, 409, 422, 503],
    handle: makeSubscription,
  }),
  route('GET /api/subscriptions/:id', {
    roles: sessionReaders,
    summary: 'A subscription.',
    params: subscriptionParams,
    replies: { 200: { is: 'The subscription.', json: subscription } },
    errors,
    handle: byEvents.show,
  }),
  route('DELETE /api/subscriptions/:id', {
    roles: talkers,
    summary: 'Takes a subscription away, with its history. What has begun goes on.',
    params: subscriptionParams,
    replies: gone,
    errors,
    handle: byEvents.remove,
  }),
  route('GET /api/subscriptions/:id/history', {
    roles: sessionReaders,
    summary: 'What became of the events that it heard, newest first.',
    params: subscriptionParams,
    query: firingsQuery,
    replies: {
      200: {
        is: 'A row for each event.',
        json: z.object({
          firings: z.array(firing),
          next: before,
        }),
      },
    },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const { slots, ...more } = await byEvents.history(deps, request)
      return { firings: slots.map(toFiringListing), ...more }
    },
  }),
  route('POST /api/subscriptions/:id/pause', {
    roles: talkers,
    summary: 'Pauses it: what is emitted meanwhile is not heard.',
    params: subscriptionParams,
    body: pauseRequest.optional(),
    replies: ofSubscription,
    errors,
    handle: byEvents.pause,
  }),
  route('POST /api/subscriptions/:id/resume', {
    roles: talkers,
    summary: 'Lets it hear again.',
    params: subscriptionParams,
    body: noBody,
    replies: ofSubscription,
    errors,
    handle: byEvents.resume,
  }),
] as const

async function listSchedules(
  { schedules, sources }: ScheduleDeps,
  caller: Principal,
  query: z.output<typeof schedulesQuery>,
) {
  const { limit = defaultListLimit } = query
  const whose = ofCallers(caller, query.principal, 'schedules')
  const listed = schedules.list({ ...whose, limit, ...defined({ after: query.after }) })
  const nowMs = sources.clock.nowMs()
  const toReply = (all: readonly Schedule[], following?: string) => ({
    schedules: all.map((one) => toListing(one, nowMs)),
    ...defined({ next: following }),
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

async function makeSubscription(
  deps: MakeDeps,
  request: RequestContext & { readonly body: SubscriptionRequestBody },
): Promise<Response> {
  const { body, caller } = request
  const { of, dryRun, limits } = body
  const { agent } = await toWork(deps, caller, body)
  if (of === 'everybody' && caller.role !== 'operator') {
    const message = 'of: only operators hear of the sessions of others; leave it out.'
    throw new IsolaError('request_forbidden', message, { param: 'of' })
  }
  return keep(deps, request, {
    kind: 'subscription',
    id: newId(deps.sources, request, 'subscription'),
    spec: toSubscriptionSpec({ ...body, agent }, toLimits(limits)),
    isDryRun: dryRun,
    async toReply(made) {
      const listing = toSubscriptionListing(made, deps.sources.clock.nowMs())
      if (dryRun !== true) await announce(deps, made)
      return listing
    },
  })
}
