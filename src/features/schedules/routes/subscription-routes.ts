import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { type Schedule, type Slot, keeperOf } from '#runtime/session/types/schedule.ts'
import { toListing, toSlotListing } from './listing.ts'
import { type FiringListing, type SubscriptionListing, firing, subscription } from './replies.ts'
import { pauseRequest, schedulesQuery } from '../types/schedule-requests.ts'
import {
  firingsQuery,
  subscriptionRequest,
  type SubscriptionRequestBody,
} from '../types/subscription-requests.ts'
import { flag, text } from '#platform/routes/shapes.ts'
import { IsolaError } from '#contracts/errors.ts'
import { toSubscriptionSpec } from '../types/subscription-spec.ts'
import { jsonResponse, noBody } from '#platform/routes/answer.ts'
import { defaultListLimit, ofCallers } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { toLimits } from '#platform/routes/limits.ts'
import { toWork, type MakeDeps } from './make.ts'
import {
  askerOf,
  askOf,
  changer,
  newId,
  ownerOf,
  type ScheduleDeps,
} from '#runtime/session/requests/own.ts'
import { removeSchedule } from './remove.ts'

/** A subscription as the API shows it. */
function toSubscriptionListing(one: Schedule, nowMs: number): SubscriptionListing {
  const { session, when, work } = one.spec
  const { id, owner, principal, name, paused, limits, daily, stopAfterFailures, deliver, ...of } =
    toListing(one, nowMs)
  if (!('event' in when)) throw new Error('It is no subscription.')
  const { ttlMs, event, where, maxDepth, of: whose } = when
  const { agent, ...asked } = work
  return {
    id,
    owner,
    principal,
    name,
    state: paused ? 'paused' : 'active',
    ...defined({ paused }),
    event,
    ...defined({ where }),
    of: whose,
    agent,
    task: 'task' in asked ? asked.task : asked.tool,
    ...('model' in asked && { model: asked.model }),
    ...defined({ session }),
    ttlMinutes: ttlMs / 60_000,
    maxDepth,
    ...defined({ limits }),
    daily,
    stopAfterFailures,
    deliver,
    createdAtMs: of.createdAtMs,
    failures: of.failures,
    today: of.today,
  }
}

/** A firing as the API shows it: the event's origin, without its payload. */
function toFiringListing(slot: Slot): FiringListing {
  const { slotMs, isManual: _, ...rest } = toSlotListing(slot)
  const { cause, count } = slot
  const firing = { atMs: slotMs, ...rest, ...defined({ count }) }
  if (!cause) return firing
  const { id, name, principal, session, run, trace, chain } = cause
  return {
    ...firing,
    event: { id, name, principal, session, run },
    trace,
    depth: chain.depth,
    expiresAtMs: chain.expiresAtMs,
  }
}

const kind = 'subscription'
const params = { id: 'The subscription’s id: `sub_` and 22 characters.' }
const asItIs = { 200: { is: 'The subscription as it then is.', json: subscription } }
const errors = [503]
const next = text.optional()

/** `/api/subscriptions…`: the caller's own; an operator's and (to read) an auditor's are those of every principal. */
export default [
  route('GET /api/subscriptions', {
    roles: sessionReaders,
    summary: 'Lists subscriptions: your own.',
    query: schedulesQuery,
    replies: {
      200: {
        is: 'Your own, or those of others for operators and auditors; a moment old.',
        json: z.object({
          subscriptions: z.array(subscription),
          next: next.describe('There may be more: send it as `after`.'),
        }),
      },
    },
    errors,
    async handle({ schedules, sources }: ScheduleDeps, { query, caller }) {
      const { limit = defaultListLimit, after } = query
      const whose = ofCallers(caller, query.principal, 'subscriptions')
      const from = after === undefined ? {} : { after }
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
    handle: (deps: MakeDeps, request) => makeSubscription(deps, request),
  }),
  route('GET /api/subscriptions/:id', {
    roles: sessionReaders,
    summary: 'A subscription.',
    params,
    replies: { 200: { is: 'The subscription.', json: subscription } },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const view = await askOf(deps, request, { kind, verb: 'show' })
      return toSubscriptionListing(view, deps.sources.clock.nowMs())
    },
  }),
  route('DELETE /api/subscriptions/:id', {
    roles: talkers,
    summary: 'Takes a subscription away, with its history. What has begun goes on.',
    params,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors,
    handle: (deps: ScheduleDeps, request) => removeSchedule(deps, request, kind),
  }),
  route('GET /api/subscriptions/:id/history', {
    roles: sessionReaders,
    summary: 'What became of the events that it heard, newest first.',
    params,
    query: firingsQuery,
    replies: {
      200: {
        is: 'A row for each event.',
        json: z.object({
          firings: z.array(firing),
          next: next.describe('There may be more: send it as `before`.'),
        }),
      },
    },
    errors,
    async handle(deps: ScheduleDeps, request) {
      const { limit = defaultListLimit, before, state } = request.query
      const more = {
        limit,
        ...(before !== undefined && { beforeMs: before }),
        ...(state && { state }),
      }
      const slots = await askOf(deps, request, { kind, verb: 'history', more })
      const last = slots.length === limit ? slots.at(-1) : undefined
      return { firings: slots.map(toFiringListing), ...(last && { next: String(last.slotMs) }) }
    },
  }),
  route('POST /api/subscriptions/:id/pause', {
    roles: talkers,
    summary: 'Pauses it: what is emitted meanwhile is not heard.',
    params,
    body: pauseRequest.optional(),
    replies: asItIs,
    errors,
    async handle(deps: ScheduleDeps, request) {
      const { reason = 'no reason was given' } = request.body
      const more = { reason, by: changer(request.by()) }
      const view = await announced(deps, await askOf(deps, request, { kind, verb: 'pause', more }))
      return toSubscriptionListing(view, deps.sources.clock.nowMs())
    },
  }),
  route('POST /api/subscriptions/:id/resume', {
    roles: talkers,
    summary: 'Lets it hear again.',
    params,
    body: noBody,
    replies: asItIs,
    errors,
    async handle(deps: ScheduleDeps, request) {
      const more = { by: changer(request.by()) }
      const view = await announced(deps, await askOf(deps, request, { kind, verb: 'resume', more }))
      return toSubscriptionListing(view, deps.sources.clock.nowMs())
    },
  }),
] as const

/** Updates the list that emitters read, before the answer where it can be: an event that is emitted from now on is heard. */
async function announced(
  { schedules }: Pick<ScheduleDeps, 'schedules'>,
  one: Schedule,
): Promise<Schedule> {
  await schedules.ask(keeperOf(one), 'poke', { schedules: [one] })
  return one
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
  const id = newId(deps.sources, request, kind)
  const owner = ownerOf(caller)
  const spec = toSubscriptionSpec({ ...body, agent }, toLimits(limits))
  const made = await deps.schedules.ask(owner, 'add', {
    schedule: { id, owner, asker: askerOf(caller), spec },
    by: changer(request.by()),
    ...(dryRun === true && { isDryRun: true }),
  })
  const listing = toSubscriptionListing(made, deps.sources.clock.nowMs())
  if (dryRun === true) return jsonResponse(listing)
  await announced(deps, made)
  return jsonResponse(listing, { status: 201, headers: { location: `/api/subscriptions/${id}` } })
}
