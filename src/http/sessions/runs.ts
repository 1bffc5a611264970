import type { SubmitRequest } from '#contracts/session.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { isRunId, readIdempotencyKey, readTrace } from '../headers.ts'
import { jsonResponse, noSuchSession, unwrap } from '../responses.ts'
import type { AddRoute } from '../routes.ts'
import { checkModel } from '../targets.ts'
import { type OpenSession, openSession } from './open-session.ts'
import {
  parseCancelRequest,
  parseRunRequest,
  type RunRequest,
  toParameters,
  toTaskMessage,
} from './requests.ts'

/** `/api/sessions/:id/runs…`: submit, result, cancel. */
export function addRunRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/sessions/:id/runs', { POST: (context) => startRun(deps, context) })
  addRoute('/api/sessions/:id/runs/:run', {
    GET: async (context) => {
      const { session, principal } = openSession(deps, context)
      return jsonResponse(unwrap(await session.result(principal, runOf(context))))
    },
  })
  addRoute('/api/sessions/:id/runs/:run/cancel', {
    POST: async (context) => {
      const { session, principal } = openSession(deps, context)
      const run = runOf(context)
      const body = await readJsonObject(context.req.raw, { whenEmpty: {} })
      const { reason = 'Cancelled by the caller.' } = parseCancelRequest(body)
      return jsonResponse(unwrap(await session.cancel(principal, run, reason)))
    },
  })
}

async function startRun(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const opened = openSession(deps, context)
  const request = parseRunRequest(await readJsonObject(context.req.raw))
  const submission = toSubmission(deps, { context, opened, request })
  const { id, session } = opened
  if (request.wait === true) {
    const result = unwrap(await session.run(id, submission))
    return jsonResponse(result, { headers: { location: locationOf(id, result.id) } })
  }
  const receipt = unwrap(await session.submit(id, submission))
  return jsonResponse(receipt, { status: 202, headers: { location: locationOf(id, receipt.run) } })
}

function toSubmission(
  deps: HttpDeps,
  from: {
    readonly context: HttpContext
    readonly opened: OpenSession
    readonly request: RunRequest
  },
): SubmitRequest {
  const { opened, request } = from
  const { headers } = from.context.req.raw
  const idempotencyKey = readIdempotencyKey(headers)
  const model = request.model === undefined ? undefined : checkModel(deps, request.model)
  const parameters = toParameters(request)
  // No agent: a session that is not there is not made by a run.
  return {
    principal: opened.principal,
    messages: [toTaskMessage(request)],
    ...(model !== undefined && { model }),
    ...(parameters && { parameters }),
    trace: readTrace(headers, deps.sources),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
}

function runOf(context: HttpContext): string {
  const run = context.req.param('run') ?? ''
  if (!isRunId(run)) throw noSuchSession()
  return run
}

function locationOf(session: string, run: string): string {
  return `/api/sessions/${session}/runs/${run}`
}
