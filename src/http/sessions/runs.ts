import { IsolaError } from '#contracts/errors.ts'
import { sessionProtocol, type SubmitRequest } from '#contracts/submission.ts'
import { readJsonObject } from '../body.ts'
import { askedBy } from '../asked-by.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { readIdempotencyKey, readTrace } from '../headers.ts'
import { jsonResponse, replayed, unwrap } from '../responses.ts'
import type { AddRoute } from '../routes.ts'
import { checkModel } from '../targets.ts'
import { cancelRun } from './for-others.ts'
import { toLimits } from './limits.ts'
import { inSession, openOwn, runOf } from './open-session.ts'
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
      const run = runOf(context)
      const view = await inSession(deps, context, async ({ session, principal }) =>
        unwrap(await session.result(principal, run)),
      )
      return jsonResponse(view)
    },
  })
  addRoute('/api/sessions/:id/runs/:run/cancel', {
    POST: async (context) => {
      const run = runOf(context)
      const body = await readJsonObject(context.req.raw, { whenEmpty: {} })
      const { reason } = parseCancelRequest(body)
      const asked = { run, ...(reason !== undefined && { reason }) }
      const view = await inSession(deps, context, (opened) =>
        cancelRun(deps, context, { opened, ...asked }),
      )
      return jsonResponse(view)
    },
  })
}

async function startRun(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const opened = openOwn(deps, context)
  const request = parseRunRequest(await readJsonObject(context.req.raw))
  const submission = await toSubmission(deps, { context, request })
  const { id, session } = opened
  const locate = (run: string) => ({ location: `/api/sessions/${id}/runs/${run}` })
  if (request.wait === true) {
    const { id: run } = unwrap(await session.run(id, submission))
    // The same as GET of the run, whatever the sessions tell each other of it.
    const view = unwrap(await session.result(opened.principal, run))
    return jsonResponse(view, { status: view.result ? 200 : 202, headers: locate(run) })
  }
  const { run, isJoined, createdAtMs } = unwrap(await session.submit(id, submission))
  // Nothing in the body that changes: a repeated request is answered with the same bytes (docs/reliability.md F17).
  const receipt = { session: id, run, createdAtMs }
  return jsonResponse(receipt, { status: 202, headers: { ...locate(run), ...replayed(isJoined) } })
}

/** One that matches nothing protects nothing, and whoever wrote it thinks otherwise. */
function checkPatterns(patterns: readonly string[], tools: readonly string[]): void {
  const isMatched = (pattern: string): boolean => {
    if (pattern.startsWith('isola__') || pattern === '*') return true
    return pattern.endsWith('*')
      ? tools.some((tool) => tool.startsWith(pattern.slice(0, -1)))
      : tools.includes(pattern)
  }
  const index = patterns.findIndex((pattern) => !isMatched(pattern))
  if (index < 0) return
  const param = `requireApproval[${index}]`
  const message = `${param}: "${patterns[index]}" is no tool here. Name one (kv__set), all of a plugin (kv__*), or *.`
  throw new IsolaError('request_invalid', message, { param })
}

async function toSubmission(
  deps: HttpDeps,
  from: {
    readonly context: HttpContext
    readonly request: RunRequest
  },
): Promise<SubmitRequest> {
  const { request } = from
  const { headers } = from.context.req.raw
  const idempotencyKey = readIdempotencyKey(headers)
  const rights = from.context.get('principal')
  const model = request.model === undefined ? undefined : checkModel(deps, rights, request.model)
  const parameters = toParameters(request)
  const limits = toLimits(request.limits)
  const { requireApproval, clientTools } = request
  checkPatterns(requireApproval ?? [], [
    ...(await deps.agents.toolNames(requireApproval ?? [])),
    ...(clientTools ?? []).map(({ name }) => name),
  ])
  // No agent: a session that is not there is not made by a run. An empty list and no list are the same request.
  return {
    ...askedBy(from.context),
    messages: [toTaskMessage(request)],
    ...(model !== undefined && { model }),
    ...(parameters && { parameters }),
    ...(limits && { limits }),
    ...(requireApproval?.length && { requireApproval }),
    ...(clientTools?.length && { clientTools }),
    ...(request.mayAsk === true && { mayAsk: true }),
    pauses: 'park',
    mayRaise: true,
    protocol: sessionProtocol,
    ...readTrace(from.context, deps.sources),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
}
