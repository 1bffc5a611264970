import { noFields } from '#contracts/routes/request-lists.ts'
import {
  historyQuery,
  noticesQuery,
  pauseRequest,
  schedulesQuery,
  settingsRequest,
} from '#contracts/routes/schedules-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import { keeperOf } from '../types/schedule-keeper.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { seesEverybody } from '#runtime/session/requests/open-session.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { toListing, toSlotListing } from './listing.ts'
import { editSchedule } from './edit.ts'
import { makeSchedule } from './make.ts'
import { changer, everybody, onSchedule, ownerOf } from './own.ts'
import { removeSchedule } from './remove.ts'

/** `/api/schedules…`: one's own; an operator's and (to read) an auditor's are everybody's. */
export function addScheduleRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const { schedules } = deps
  const now = () => deps.sources.clock.nowMs()
  const optional = (context: HttpContext) => readJsonObject(context.req.raw, { whenEmpty: {} })
  addRoute('/api/schedules', {
    GET: (context) => listSchedules(deps, context),
    POST: (context) => makeSchedule(deps, context),
  })
  addRoute('/api/schedules/:id', {
    GET: async (context) => {
      const view = await onSchedule(deps, context, ({ keeper, ...asked }) =>
        schedules.ask(keeper, 'show', asked),
      )
      return jsonResponse(toListing(view, now()))
    },
    POST: (context) => editSchedule(deps, context),
    DELETE: async (context) => jsonResponse(await removeSchedule(deps, context, 'schedule')),
  })
  addRoute('/api/schedules/:id/history', {
    GET: async (context) => {
      const query = parseFields(historyQuery, context.req.query())
      const { limit = defaultListLimit, before } = query
      const page = { limit, ...(before !== undefined && { beforeMs: before }) }
      const slots = await onSchedule(deps, context, ({ keeper, ...asked }) =>
        schedules.ask(keeper, 'history', { ...asked, ...page }),
      )
      const last = slots.length === limit ? slots.at(-1) : undefined
      return jsonResponse({
        slots: slots.map(toSlotListing),
        ...(last && { next: String(last.slotMs) }),
      })
    },
  })
  addRoute('/api/schedules/:id/pause', {
    POST: async (context) => {
      const { reason = 'no reason was given' } = parseFields(pauseRequest, await optional(context))
      const by = changer(deps, context)
      const view = await onSchedule(deps, context, ({ keeper, ...asked }) =>
        schedules.ask(keeper, 'pause', { ...asked, reason, by }),
      )
      return jsonResponse(toListing(view, now()))
    },
  })
  addRoute('/api/schedules/:id/resume', {
    POST: async (context) => {
      parseFields(noFields, await optional(context))
      const by = changer(deps, context)
      const view = await onSchedule(deps, context, ({ keeper, ...asked }) =>
        schedules.ask(keeper, 'resume', { ...asked, by }),
      )
      return jsonResponse(toListing(view, now()))
    },
  })
  addRoute('/api/schedules/:id/run', {
    POST: async (context) => {
      parseFields(noFields, await optional(context))
      const key = readIdempotencyKey(context.req.raw.headers)
      const by = changer(deps, context)
      const slot = await onSchedule(deps, context, ({ keeper, ...asked }) =>
        schedules.ask(keeper, 'run', { ...asked, by, ...(key !== undefined && { key }) }),
      )
      return jsonResponse(toSlotListing(slot), { status: 202 })
    },
  })
}

/** What schedules had to tell, and the settings of whoever asks. */
export function addNoticeRoutes(addRoute: AddRoute, { schedules }: HttpDeps): void {
  addRoute('/api/notices', {
    GET: async (context) => {
      const { limit = defaultListLimit } = parseFields(noticesQuery, context.req.query())
      return jsonResponse({ notices: await schedules.ask(ownerOf(context), 'notices', { limit }) })
    },
  })
  addRoute('/api/notices/:notice', {
    DELETE: async (context) => {
      const id = context.req.param('notice') ?? ''
      return jsonResponse(await schedules.ask(ownerOf(context), 'dismiss', { id }))
    },
  })
}

/** What holds for whoever asks, wherever they are. */
export function addSettingsRoutes(addRoute: AddRoute, { schedules }: HttpDeps): void {
  addRoute('/api/settings', {
    GET: async (context) => jsonResponse(await schedules.ask(ownerOf(context), 'settings', {})),
    POST: async (context) => {
      const asked = parseFields(settingsRequest, await readJsonObject(context.req.raw))
      const { timeZone, language } = asked
      const set = {
        ...(timeZone !== undefined && { timeZone }),
        ...(language !== undefined && { language }),
      }
      return jsonResponse(await schedules.ask(ownerOf(context), 'settings', { set }))
    },
  })
}

async function listSchedules(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const { id, role } = context.get('principal')
  const query = parseFields(schedulesQuery, context.req.query())
  const { principal = role === 'auditor' ? everybody : id, limit = defaultListLimit, after } = query
  if (principal !== id && !seesEverybody(role)) {
    const message =
      'principal: only operators and auditors see the schedules of others; leave it out.'
    throw new IsolaError('request_forbidden', message, { param: 'principal' })
  }
  const of = principal === everybody ? {} : { principal }
  const listed = deps.schedules.list({ ...of, limit, ...(after !== undefined && { after }) })
  const nowMs = deps.sources.clock.nowMs()
  const answer = (schedules: readonly Parameters<typeof toListing>[0][], next?: string) =>
    jsonResponse({
      schedules: schedules.map((one) => toListing(one, nowMs)),
      ...(next !== undefined && { next }),
    })
  if (principal !== id) {
    const all = await listed
    return answer(all, all.length === limit ? all.at(-1)?.id : undefined)
  }
  // As they are, with what a plugin's object keeps in the own name; a list that is away hides no schedule of one's own.
  const own = ownerOf(context)
  const [kept, elsewhere] = await Promise.all([
    deps.schedules.ask(own, 'list', { limit }),
    listed.catch(() => []),
  ])
  return answer([...kept, ...elsewhere.filter((one) => keeperOf(one) !== own)])
}
