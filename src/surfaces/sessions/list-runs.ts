import { runsQuery } from '#runtime/session/types/sessions-requests.ts'
import type { RunListing } from '#runtime/session/types/runs-contract.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionListing } from '#contracts/operations.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { isRunId } from '#platform/routes/headers.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { pageOf, toSessionQuery } from './list-sessions.ts'
import { seesEverybody } from '#runtime/session/requests/open-session.ts'

/** What is not over: what somebody who left wants back first. */
const underWay = ['running', 'queued', 'parked'] as const
const defaultLimit = 20

/** `/api/runs`: what was begun, wherever it works; who sees whose is as for sessions. */
export function addRunListRoute(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/runs', { GET: (context) => listRuns(deps, context) })
  addRoute('/api/runs/:run', { GET: (context) => findRun(deps, context) })
}

/**
 * The last run of each session: those under way first, then those of the sessions that were made last. The list of
 * sessions says where to look, and each session how its run stands now; no list of runs is kept anywhere.
 */
async function listRuns(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const fields = parseFields(runsQuery, context.req.query())
  const { limit = defaultLimit, state, after } = fields
  const query = {
    ...toSessionQuery({ ...fields, limit }, context.get('principal')),
    withStateless: true,
  }
  const open = state === undefined && after === undefined ? underWay : []
  const [page, ...pages] = await Promise.all([
    deps.sessionIndex.list(query),
    ...open.map((one) => deps.sessionIndex.list({ ...query, state: one })),
  ])
  const first = pages.flatMap(({ sessions }) => sessions).slice(0, limit)
  const found = new Map([...first, ...page.sessions].map((one) => [one.id, one]))
  const runs = await Promise.all([...found.values()].map((one) => lastRun(deps, one)))
  return jsonResponse({ runs: runs.flat(), ...pageOf(page) })
}

/** One run by its id alone. What the caller may not see looks like what is not there. */
async function findRun(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const run = context.req.param('run') ?? ''
  const { id, role } = context.get('principal')
  const place = isRunId(run) ? await deps.sessionIndex.placeOf(run) : undefined
  if (!place || (place.principal !== id && !seesEverybody(role)))
    throw new IsolaError(
      'request_not_found',
      'There is no such run of yours among the newest of the record; an older one is found in its session.',
    )
  return jsonResponse(unwrap(await deps.sessions.at(place.session).result(place.principal, run)))
}

/** None of a session that is gone by now, or in which nothing ran. */
async function lastRun(
  deps: HttpDeps,
  { id: session, principal, runs }: SessionListing,
): Promise<readonly RunListing[]> {
  if (runs === 0) return []
  const asked = await deps.sessions.at(session).tree(principal, { limit: 1, maxChars: 1 })
  if (!asked.ok && asked.error.code === 'request_not_found') return []
  const tree = unwrap(asked)
  const [run] = tree.runs
  if (!run) return []
  const { id, agent, state, createdAtMs, result } = run
  // What a session has spent is its run's, where that is its only one.
  const usage = result?.usage ?? (tree.earlier === undefined ? tree.usage : undefined)
  const self = `/api/sessions/${session}/runs/${id}`
  return [
    {
      id,
      session,
      agent,
      principal,
      state,
      startedAtMs: createdAtMs,
      ...(usage && { usage }),
      links: {
        run: self,
        events: `/api/sessions/${session}/events?run=${id}`,
        cancel: `${self}/cancel`,
      },
    },
  ]
}
