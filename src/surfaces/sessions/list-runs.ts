import { defined } from '#contracts/defined.ts'
import type * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { Principal, SessionIndex, SessionListing } from '#contracts/operations.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { isRunId } from '#platform/routes/headers.ts'
import { seesEverybody } from '#platform/routes/queries.ts'
import { pageOf, toSessionQuery } from './list-sessions.ts'
import type { runsQuery } from '#runtime/session/requests/session-requests.ts'
import type { RunListing } from '#runtime/session/requests/run-replies.ts'

export interface RunListDeps {
  readonly sessions: SessionGateway
  readonly sessionIndex: Pick<SessionIndex, 'list' | 'placeOf'>
}

/** States of runs that are not over: a caller who left wants these back first. */
const underWay = ['running', 'queued', 'parked'] as const
const defaultLimit = 20

/**
 * The last run of each session: runs under way first, then the runs of the newest sessions. The list of sessions says
 * where to look, and each session gives the state of its run; no list of runs is stored.
 */
export async function listRuns(
  deps: RunListDeps,
  caller: Principal,
  fields: z.output<typeof runsQuery>,
) {
  const { limit = defaultLimit, state, after } = fields
  const query = {
    ...toSessionQuery({ ...fields, limit }, caller),
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
  return { runs: runs.flat(), ...pageOf(page) }
}

/** One run by its id alone. A run that the caller may not see looks like a missing run. */
export async function findRun(deps: RunListDeps, { id, role }: Principal, run: string) {
  const place = isRunId(run) ? await deps.sessionIndex.placeOf(run) : undefined
  if (!place || (place.principal !== id && !seesEverybody(role)))
    throw new IsolaError(
      'request_not_found',
      'There is no such run of yours among the newest of the record; an older one is found in its session.',
    )
  return unwrap(await deps.sessions.at(place.session).result(place.principal, run))
}

/** None of a session that is gone by now, or in which nothing ran. */
async function lastRun(
  deps: RunListDeps,
  { id: session, principal, runs }: SessionListing,
): Promise<readonly RunListing[]> {
  if (runs === 0) return []
  const asked = await deps.sessions.at(session).tree(principal, { limit: 1, maxChars: 1 })
  if (!asked.ok && asked.error.code === 'request_not_found') return []
  const tree = unwrap(asked)
  const [run] = tree.runs
  if (!run) return []
  const { id, agent, state, createdAtMs, result } = run
  // The spending of a session with one run is that run's.
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
      ...defined({ usage }),
      links: {
        run: self,
        events: `/api/sessions/${session}/events?run=${id}`,
        cancel: `${self}/cancel`,
      },
    },
  ]
}
