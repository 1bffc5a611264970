import { noFields } from '#contracts/routes/request-lists.ts'
import { givenUpQuery } from './record-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { GivenUpRun } from '#runtime/session/types/given-up-runs.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '#runtime/session/types/run-view.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { isRunId } from '#platform/routes/headers.ts'
import { jsonResponse, replayed } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'

/** `GET /api/operator/runs`: the runs that were given up, those nobody has decided about if `state` is not named. */
export const listGivenUp =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const { state = 'open', limit } = parseFields(givenUpQuery, context.req.query())
    const runs = await deps.givenUp.list({ state, limit: limit ?? defaultListLimit })
    return jsonResponse({ runs })
  }

/** One of them, with what its session knows of the run; `view` is null if the session is gone. */
export const showGivenUp =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const row = await find(deps, context)
    return jsonResponse({ ...row, view: await viewOf(deps, row) })
  }

/** Starts the task again as a new run. Repeated, it names the run that it started. */
export const retryGivenUp =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const row = await decideOn(deps, context, 'retried')
    const receipt = unwrap(await deps.sessions.at(row.session).retry(row.run))
    await deps.givenUp.resolve(row.run, 'retried')
    const { session, run, createdAtMs, isJoined } = receipt
    const location = `/api/sessions/${session}/runs/${run}`
    // Nothing in the body that changes: a repeated request is answered with the same bytes (docs/reliability.md F17).
    return jsonResponse(
      { session, run, createdAtMs },
      { status: 202, headers: { location, ...replayed(isJoined) } },
    )
  }

/** Takes it off the list without another attempt. */
export const dropGivenUp =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const row = await decideOn(deps, context, 'dropped')
    await deps.givenUp.resolve(row.run, 'dropped')
    return jsonResponse({ ...row, state: 'dropped' })
  }

/** The run, if it may be decided so: the same decision again is none, another one is refused. */
async function decideOn(
  deps: HttpDeps,
  context: HttpContext,
  decision: 'retried' | 'dropped',
): Promise<GivenUpRun> {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const row = await find(deps, context)
  if (row.state !== 'open' && row.state !== decision)
    throw new IsolaError('request_conflict', `This run was ${row.state} already.`)
  return row
}

/** A malformed id looks like one that is absent. */
async function find(deps: HttpDeps, context: HttpContext): Promise<GivenUpRun> {
  const run = context.req.param('run') ?? ''
  const row = isRunId(run) ? await deps.givenUp.find(run) : undefined
  if (!row) throw new IsolaError('request_not_found', 'No run of this id was given up.')
  return row
}

async function viewOf(deps: HttpDeps, row: GivenUpRun): Promise<RunView | null> {
  const reply = await deps.sessions.at(row.session).result(row.principal, row.run)
  return !reply.ok && reply.error.code === 'request_not_found' ? null : unwrap(reply)
}
