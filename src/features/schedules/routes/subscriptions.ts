import { noFields } from '#contracts/routes/request-lists.ts'
import { pauseRequest, schedulesQuery } from '#contracts/routes/schedules-requests.ts'
import { firingsQuery, subscriptionRequest } from './subscriptions-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import { keeperOf } from '../types/schedule-keeper.ts'
import type { ScheduleVerb, ScheduleVerbs } from '#runtime/session/types/schedule-object.ts'
import type { Schedule } from '#contracts/schedule.ts'
import { toSubscriptionSpec } from '../types/subscription-spec.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { seesEverybody } from '#runtime/session/requests/open-session.ts'
import { toLimits } from '#platform/routes/limits.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { toWork } from './make.ts'
import { askerOf, changer, everybody, idOf, onSchedule, ownerOf } from './own.ts'
import { removeSchedule } from './remove.ts'
import { toFiringListing, toSubscriptionListing } from './subscription-listing.ts'

type Of = 'id' | 'principal'

/** `/api/subscriptions…`: one's own; an operator's and (to read) an auditor's are everybody's. */
export function addSubscriptionRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const asked = <Verb extends ScheduleVerb>(
    context: HttpContext,
    verb: Verb,
    more: Omit<ScheduleVerbs[Verb]['ask'], Of>,
  ) =>
    onSchedule(
      deps,
      context,
      ({ keeper, ...of }) =>
        deps.schedules.ask(keeper, verb, { ...of, ...more } as ScheduleVerbs[Verb]['ask']),
      'subscription',
    )
  const listed = (one: Schedule) =>
    jsonResponse(toSubscriptionListing(one, deps.sources.clock.nowMs()))
  const optional = (context: HttpContext) => readJsonObject(context.req.raw, { whenEmpty: {} })
  const by = (context: HttpContext) => changer(deps, context)

  addRoute('/api/subscriptions', {
    GET: (context) => list(deps, context),
    POST: (context) => make(deps, context),
  })
  addRoute('/api/subscriptions/:id', {
    GET: async (context) => listed(await asked(context, 'show', {})),
    DELETE: async (context) => jsonResponse(await removeSchedule(deps, context, 'subscription')),
  })
  addRoute('/api/subscriptions/:id/history', {
    GET: async (context) => {
      const query = parseFields(firingsQuery, context.req.query())
      const { limit = defaultListLimit, before, state } = query
      const slots = await asked(context, 'history', {
        limit,
        ...(before !== undefined && { beforeMs: before }),
        ...(state && { state }),
      })
      const last = slots.length === limit ? slots.at(-1) : undefined
      return jsonResponse({
        firings: slots.map(toFiringListing),
        ...(last && { next: String(last.slotMs) }),
      })
    },
  })
  addRoute('/api/subscriptions/:id/pause', {
    POST: async (context) => {
      const { reason = 'no reason was given' } = parseFields(pauseRequest, await optional(context))
      return listed(await told(deps, await asked(context, 'pause', { reason, by: by(context) })))
    },
  })
  addRoute('/api/subscriptions/:id/resume', {
    POST: async (context) => {
      parseFields(noFields, await optional(context))
      return listed(await told(deps, await asked(context, 'resume', { by: by(context) })))
    },
  })
}

/** Before the answer, where it can be: whoever emits looks at the list, and what is emitted from now on is to be heard. */
async function told(deps: HttpDeps, one: Schedule): Promise<Schedule> {
  await deps.schedules.ask(keeperOf(one), 'poke', { schedules: [one] })
  return one
}

async function make(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const body = parseFields(subscriptionRequest, await readJsonObject(context.req.raw))
  const { of, dryRun, limits } = body
  const { agent } = await toWork(deps, context, body)
  if (of === 'everybody' && context.get('principal').role !== 'operator') {
    const message = 'of: only operators hear of the sessions of others; leave it out.'
    throw new IsolaError('request_forbidden', message, { param: 'of' })
  }
  const id = idOf(deps, context, 'subscription')
  const owner = ownerOf(context)
  const asker = askerOf(context)
  const spec = toSubscriptionSpec({ ...body, agent }, toLimits(limits))
  const made = await deps.schedules.ask(owner, 'add', {
    schedule: { id, owner, asker, spec },
    by: changer(deps, context),
    ...(dryRun === true && { isDryRun: true }),
  })
  const listing = toSubscriptionListing(made, deps.sources.clock.nowMs())
  if (dryRun === true) return jsonResponse(listing)
  await told(deps, made)
  return jsonResponse(listing, { status: 201, headers: { location: `/api/subscriptions/${id}` } })
}

async function list(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const { id, role } = context.get('principal')
  const query = parseFields(schedulesQuery, context.req.query())
  const { principal = role === 'auditor' ? everybody : id, limit = defaultListLimit, after } = query
  if (principal !== id && !seesEverybody(role)) {
    const message =
      'principal: only operators and auditors see the subscriptions of others; leave it out.'
    throw new IsolaError('request_forbidden', message, { param: 'principal' })
  }
  const whose = principal === everybody ? {} : { principal }
  const from = after === undefined ? {} : { after }
  const all = await deps.schedules.list({ ...whose, ...from, limit, subscriptions: true })
  const nowMs = deps.sources.clock.nowMs()
  const next = all.length === limit ? all.at(-1)?.id : undefined
  return jsonResponse({
    subscriptions: all.map((one) => toSubscriptionListing(one, nowMs)),
    ...(next !== undefined && { next }),
  })
}
