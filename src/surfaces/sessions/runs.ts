import { IsolaError } from '#contracts/errors.ts'
import { unwrap } from '#contracts/reply.ts'
import type { Submitted } from '#runtime/session/types/submit-as.ts'
import { notingBegun } from '#runtime/session/requests/begun.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { readIdempotencyKey, readTrace } from '#platform/routes/headers.ts'
import { toParameters } from '#platform/routes/parameters.ts'
import { jsonResponse, replayed } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { checkModel } from '#platform/routes/targets.ts'
import { cancelRun } from '#runtime/session/requests/for-others.ts'
import { toLimits } from '#platform/routes/limits.ts'
import { inSession, openOwn, runOf } from '#runtime/session/requests/open-session.ts'
import {
  parseCancelRequest,
  parseRunRequest,
  type RunRequest,
  toTaskMessage,
} from '#runtime/session/requests/session-requests.ts'

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
  const { id, session } = opened
  const work = await toWork(deps, { context, request, session: id })
  const locate = (run: string) => ({ location: `/api/sessions/${id}/runs/${run}` })
  if (request.wait === true) {
    const { id: run } = unwrap(await work.run())
    // The same as GET of the run, whatever the sessions tell each other of it.
    const view = unwrap(await session.result(opened.principal, run))
    return jsonResponse(view, { status: view.result ? 200 : 202, headers: locate(run) })
  }
  const { run, isJoined, createdAtMs } = unwrap(await work.submit())
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

async function toWork(
  deps: HttpDeps,
  from: {
    readonly context: HttpContext
    readonly request: RunRequest
    readonly session: string
  },
): Promise<Submitted> {
  const { request, session, context } = from
  const key = readIdempotencyKey(context.req.raw.headers)
  const asking = context.get('principal')
  const model = request.model === undefined ? undefined : checkModel(deps, asking, request.model)
  const limits = toLimits(request.limits)
  const { requireApproval, clientTools, parameters } = request
  checkPatterns(requireApproval ?? [], [
    ...(await deps.agents.toolNames(requireApproval ?? [])),
    ...(clientTools ?? []).map(({ name }) => name),
  ])
  // No agent: a session that is not there is not made by a run. An empty list and no list are the same request.
  const ask = {
    session,
    messages: [toTaskMessage(request)],
    ...(model !== undefined && { model }),
    ...(parameters && { parameters: toParameters(parameters) }),
    ...(limits && { limits }),
    ...(requireApproval?.length && { requireApproval }),
    ...(clientTools?.length && { clientTools }),
    ...(request.mayAsk === true && { mayAsk: true }),
    ...(request.persona !== undefined && { persona: request.persona }),
    pauses: 'park' as const,
    mayRaise: true,
    ...readTrace(context, deps.sources),
  }
  return notingBegun(context, deps.entry.submitAs(asking, ask, { key, origin: 'api' }))
}
