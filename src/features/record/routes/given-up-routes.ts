import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { GivenUpRun, GivenUpRuns } from '#runtime/session/types/audit-sink.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '#runtime/session/types/session-view.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { isRunId } from '#platform/routes/headers.ts'
import { jsonResponse, replayed, noBody } from '#platform/routes/answer.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import { operators } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, text } from '#platform/routes/shapes.ts'
import { receipt, runView } from '#runtime/session/requests/run-replies.ts'
import { givenUpQuery } from './requests.ts'

interface GivenUpDeps {
  readonly givenUp: GivenUpRuns
  readonly sessions: SessionGateway
}

const givenUp = {
  run: text,
  session: text,
  principal: text,
  agent: text,
  trace: text,
  code: text,
  message: text,
  atMs,
  state: z.enum(['open', 'retried', 'dropped']),
}
const run = 'The run’s id: `run_` and 22 characters.'

/** `/api/operator/runs…`: given-up runs, until an operator decides. */
export default [
  route('GET /api/operator/runs', {
    roles: operators,
    summary: 'Lists runs that were given up.',
    query: givenUpQuery,
    replies: { 200: { is: 'The runs.', json: z.object({ runs: z.array(z.object(givenUp)) }) } },
    async handle({ givenUp: runs }: GivenUpDeps, { query }) {
      const { state = 'open', limit = defaultListLimit } = query
      return { runs: await runs.list({ state, limit }) }
    },
  }),
  route('GET /api/operator/runs/:run', {
    roles: operators,
    summary: 'A run that was given up.',
    params: { run },
    replies: {
      200: {
        is: 'It, with what its session knows of it.',
        json: z.object({ ...givenUp, view: runView.nullable() }),
      },
    },
    async handle(deps: GivenUpDeps, { params: of }) {
      const row = await findGivenUp(deps, of.run)
      return { ...row, view: await viewOf(deps, row) }
    },
  }),
  route('POST /api/operator/runs/:run/retry', {
    roles: operators,
    summary: 'Starts its task again as a new run.',
    params: { run },
    body: noBody,
    replies: {
      202: {
        is: 'The receipt of that run.',
        headers: ['location', 'idempotent-replayed'],
        json: receipt,
      },
    },
    errors: [409],
    async handle(deps: GivenUpDeps, { params: of }) {
      const row = await decideOn(deps, of.run, 'retried')
      const started = unwrap(await deps.sessions.at(row.session).retry(row.run))
      await deps.givenUp.resolve(row.run, 'retried')
      const { session, run: id, createdAtMs, isJoined } = started
      const location = `/api/sessions/${session}/runs/${id}`
      // The body has no changing fields: a repeated request gets the same bytes (docs/reliability.md F17).
      const headers = { location, ...replayed(isJoined) }
      return jsonResponse({ session, run: id, createdAtMs }, { status: 202, headers })
    },
  }),
  route('POST /api/operator/runs/:run/drop', {
    roles: operators,
    summary: 'Takes it off the list.',
    params: { run },
    body: noBody,
    replies: { 200: { is: 'It.', json: z.object(givenUp) } },
    errors: [409],
    async handle(deps: GivenUpDeps, { params: of }) {
      const row = await decideOn(deps, of.run, 'dropped')
      await deps.givenUp.resolve(row.run, 'dropped')
      return { ...row, state: 'dropped' }
    },
  }),
] as const

/** Finds the run and checks the decision: the same decision again changes nothing, another one is refused. */
async function decideOn(
  deps: GivenUpDeps,
  id: string,
  decision: 'retried' | 'dropped',
): Promise<GivenUpRun> {
  const row = await findGivenUp(deps, id)
  if (row.state !== 'open' && row.state !== decision)
    throw new IsolaError('request_conflict', `This run was ${row.state} already.`)
  return row
}

/** A malformed id gets the same answer as an absent one. */
async function findGivenUp({ givenUp: runs }: GivenUpDeps, id: string): Promise<GivenUpRun> {
  const row = isRunId(id) ? await runs.find(id) : undefined
  if (!row) throw new IsolaError('request_not_found', 'No run of this id was given up.')
  return row
}

/** The session's view of the run; `null` if the session is gone. */
async function viewOf({ sessions }: GivenUpDeps, row: GivenUpRun): Promise<RunView | null> {
  const reply = await sessions.at(row.session).result(row.principal, row.run)
  return !reply.ok && reply.error.code === 'request_not_found' ? null : unwrap(reply)
}
