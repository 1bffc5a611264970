import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { changedLimits } from './types.ts'
import { unwrap } from '#contracts/reply.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
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
import { findRun, listRuns, type RunListDeps } from './list-runs.ts'
import {
  checkRunId,
  checkSessionId,
  inSession,
  openOwn,
} from '#runtime/session/requests/open-session.ts'
import { runsQuery } from '#runtime/session/requests/session-requests.ts'
import { receipt, runListing, runView } from '#runtime/session/requests/run-replies.ts'
import {
  cancelRequest,
  decisionRequest,
  messageRequest,
  runRequest,
} from '#runtime/session/requests/run-requests.ts'
import { startRun, type StartDeps } from './start-run.ts'

const id = 'The session’s id: `ses_` and 22 characters.'
const run = 'The run’s id: `run_` and 22 characters.'
const asItIs = { 200: { is: 'The run as it then is.', json: runView } }

/** `/api/sessions/:id/runs…`: a run is started, read, steered, decided about, limited and cancelled; `/api/runs…`: runs of all sessions. */
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
