import {
  changeSessionRequest,
  transcriptQuery,
  treeQuery,
} from '#runtime/session/types/sessions-requests.ts'
import { unwrap } from '#contracts/reply.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { toEventStream } from '#platform/routes/event-stream.ts'
import { eventStreamResponse, jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { addContextRoutes } from './context.ts'
import { createSession } from './create-session.ts'
import { createEventView, parseEventsQuery } from './event-view.ts'
import { deleteSession, record } from '#runtime/session/requests/for-others.ts'
import { listSessions } from './list-sessions.ts'
import { inSession, openOwn } from '#runtime/session/requests/open-session.ts'
import { addRunInputRoutes } from './run-input.ts'
import { addRunRoutes } from './runs.ts'

/** `/api/sessions…`, the native API: everything a program wants. Unknown fields are refused. */
export function addSessionRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/sessions', {
    GET: (context) => listSessions(deps, context),
    POST: (context) => createSession(deps, context),
  })
  addRoute('/api/sessions/:id', {
    GET: async (context) => {
      const query = parseFields(treeQuery, context.req.query())
      const tree = await inSession(deps, context, async ({ session, principal }) =>
        unwrap(await session.tree(principal, query)),
      )
      return jsonResponse(tree)
    },
    POST: async (context) => {
      const { session, principal } = openOwn(deps, context)
      const change = parseFields(changeSessionRequest, await readJsonObject(context.req.raw))
      return jsonResponse(unwrap(await session.amend(principal, change)))
    },
    DELETE: async (context) => {
      const deleted = await inSession(deps, context, async (opened) => ({
        id: opened.id,
        ...(await deleteSession(deps, context, opened)),
      }))
      return jsonResponse(deleted)
    },
  })
  addRoute('/api/sessions/:id/transcript', {
    GET: async (context) => {
      const query = parseFields(transcriptQuery, context.req.query())
      const page = await inSession(deps, context, async ({ session, principal }) =>
        unwrap(await session.transcript(principal, query)),
      )
      return jsonResponse(page)
    },
  })
  addRoute('/api/sessions/:id/reclaim', { POST: (context) => reclaim(deps, context) })
  addRoute('/api/sessions/:id/events', { GET: (context) => followEvents(deps, context) })
  addContextRoutes(addRoute, deps)
  addRunRoutes(addRoute, deps)
  addRunInputRoutes(addRoute, deps)
}

async function reclaim(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const floor = await inSession(deps, context, async (opened) => {
    const { session, principal, by } = opened
    const taken = unwrap(await session.reclaim(principal, by))
    await record(deps, context, {
      type: 'floor_reclaimed',
      opened,
      about: { holder: taken.holder },
    })
    return taken
  })
  return jsonResponse(floor)
}

/** A reader may vanish and come back with its cursor: the run goes on, nothing is cancelled. */
async function followEvents(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const query = parseEventsQuery(context.req.query(), context.req.header('last-event-id') ?? null)
  const source = await inSession(deps, context, async ({ session, principal }) =>
    unwrap(await session.events(principal, query)),
  )
  if (context.req.method === 'HEAD') {
    await source.cancel()
    return eventStreamResponse(null)
  }
  const requestId = context.get('requestId')
  const view = createEventView({
    ...query,
    requestId,
    onFault: (error) => deps.onFault?.(error, requestId),
  })
  const { signal } = context.req.raw
  return eventStreamResponse(toEventStream(source, view, { clock: deps.sources.clock, signal }))
}
