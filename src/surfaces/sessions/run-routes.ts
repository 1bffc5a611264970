import * as z from 'zod'
import { runLimits } from '#contracts/limits.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Principal, SessionIndex, SessionListing } from '#contracts/operations.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { isRunId, readIdempotencyKey } from '#platform/routes/headers.ts'
import { seesEverybody } from '#platform/routes/queries.ts'
import { pageOf, toSessionQuery } from './list-sessions.ts'
import { runsQuery } from '#runtime/session/requests/session-requests.ts'
import {
  type RunListing,
  receipt,
  runListing,
  runView,
} from '#runtime/session/requests/run-replies.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, text } from '#platform/routes/shapes.ts'
import {
  cancelRun,
  changeRunLimits,
  decideCall,
  type ForOthersDeps,
} from '#runtime/session/requests/for-others.ts'
import { toLimits } from '#platform/routes/limits.ts'
import {
  checkRunId,
  checkSessionId,
  inSession,
  openOwn,
} from '#runtime/session/requests/open-session.ts'
import {
  cancelRequest,
  decisionRequest,
  messageRequest,
  runRequest,
} from '#runtime/session/requests/run-requests.ts'
import { startRun, type StartDeps } from './start-run.ts'

/** Limits of a run under way: they replace limits of an agent's author, so they end where those do. */
const changedLimits = runLimits.extend({
  maxDepth: z.int().min(0).max(16).optional(),
  maxConcurrency: z.int().min(1).max(64).optional(),
})

interface RunListDeps {
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
async function listRuns(deps: RunListDeps, caller: Principal, fields: z.output<typeof runsQuery>) {
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
async function findRun(deps: RunListDeps, { id, role }: Principal, run: string) {
  const place = isRunId(run) ? await deps.sessionIndex.placeOf(run) : undefined
  if (!place || (place.principal !== id && !seesEverybody(role)))
    throw new IsolaError(
      'request_not_found',
      'There is no such run of yours among the newest of the record; an older one is found in its session.',
    )
  return unwrap(await deps.sessions.at(place.session).result(place.principal, run))
}

/** The newest run of a session. The list is empty if the session was deleted or never ran. */
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

const id = 'The session’s id: `ses_` and 22 characters.'
const run = 'The run’s id: `run_` and 22 characters.'
const asItIs = { 200: { is: 'The run as it then is.', json: runView } }

/**
 * `/api/sessions/:id/runs…`: a run is started, read, steered, decided about, limited and cancelled; `/api/runs…`:
 * runs of all sessions.
 */
export default [
  route('GET /api/runs', {
    roles: sessionReaders,
    summary: 'Lists the last run of each session: those under way first.',
    query: runsQuery,
    replies: {
      200: {
        is: 'A page of the list.',
        json: z.object({
          runs: z.array(runListing),
          next: text.optional().describe('There may be more: send it as `after`.'),
        }),
      },
    },
    handle: (deps: RunListDeps, { query, caller }) => listRuns(deps, caller, query),
  }),
  route('GET /api/runs/:run', {
    roles: sessionReaders,
    summary:
      'A run, by its id alone: one of the newest 50,000 on the record, a moment after it began.',
    params: { run },
    replies: { 200: { is: 'The run, with its session.', json: runView } },
    handle: (deps: RunListDeps, { params: of, caller }) => findRun(deps, caller, of.run),
  }),
  route('POST /api/sessions/:id/runs', {
    roles: talkers,
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
    check: checkSessionId,
    handle: (deps: StartDeps, request) => startRun(deps, request, request.body),
  }),
  route('GET /api/sessions/:id/runs/:run', {
    roles: sessionReaders,
    summary: 'A run, with its result once it is over.',
    params: { id, run },
    replies: { 200: { is: 'The run.', json: runView } },
    check: checkRunId,
    handle: (deps: ForOthersDeps, request) =>
      inSession(deps, request, async ({ session, principal }) =>
        unwrap(await session.result(principal, request.params.run)),
      ),
  }),
  route('POST /api/sessions/:id/runs/:run/cancel', {
    roles: talkers,
    summary: 'Cancels a run. One that ended stays as it ended.',
    params: { id, run },
    body: cancelRequest.optional(),
    replies: asItIs,
    errors: [409],
    check: checkRunId,
    handle(deps: ForOthersDeps, request) {
      const { reason } = request.body
      const asked = { run: request.params.run, ...(reason !== undefined && { reason }) }
      return inSession(deps, request, (opened) => cancelRun(deps, request, { opened, ...asked }))
    },
  }),
  route('POST /api/sessions/:id/runs/:run/messages', {
    roles: talkers,
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
    check: checkRunId,
    handle(deps: ForOthersDeps, request) {
      const own = openOwn(deps, request)
      const key = readIdempotencyKey(request.raw.headers)
      const at = { session: own.id, run: request.params.run }
      return deps.entry.input.steer(own, at, { text: request.body.message, key })
    },
  }),
  route('POST /api/sessions/:id/runs/:run/decisions', {
    roles: talkers,
    summary: 'Settles a call that waits. The same again changes nothing.',
    params: { id, run },
    body: decisionRequest,
    replies: asItIs,
    errors: [409],
    check: checkRunId,
    handle(deps: ForOthersDeps, request) {
      const { call, ...decision } = request.body
      const asked = { run: request.params.run, call, decision }
      return inSession(deps, request, (opened) => decideCall(deps, request, { opened, ...asked }))
    },
  }),
  route('POST /api/sessions/:id/runs/:run/limits', {
    roles: talkers,
    summary: 'Raises or lowers what a run may spend; one that waits for it goes on.',
    params: { id, run },
    body: changedLimits,
    replies: asItIs,
    errors: [409],
    check: checkRunId,
    handle(deps: ForOthersDeps, request) {
      const limits = toLimits(request.body)
      if (!limits) throw new IsolaError('request_invalid', 'Name a limit, such as maxTokens.')
      const asked = { run: request.params.run, limits }
      return inSession(deps, request, (opened) =>
        changeRunLimits(deps, request, { opened, ...asked }),
      )
    },
  }),
] as const
