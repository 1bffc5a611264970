import type * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unwrap } from '#contracts/reply.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionEntry, Submitted } from '#runtime/session/types/session-entry.ts'
import { submitAsCaller, openOwn, toTaskMessage } from '#runtime/session/requests/open-session.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { toParameters, toLimits } from '#platform/routes/limits.ts'
import { jsonResponse, replayed } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { checkModel, type Targets } from '#platform/routes/targets.ts'
import type { runRequest } from '#runtime/session/requests/run-requests.ts'

export interface StartDeps {
  readonly sessions: SessionGateway
  readonly entry: Pick<SessionEntry, 'submitAs'>
  readonly agents: Pick<AgentDirectory, 'toolNames'>
  readonly models: Targets['models']
}
type RunRequest = z.output<typeof runRequest>

/** `POST /api/sessions/:id/runs`. */
export async function startRun(
  deps: StartDeps,
  context: RequestContext,
  request: RunRequest,
): Promise<Response> {
  const opened = openOwn(deps, context)
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

/** A pattern that matches no tool protects nothing, while its author believes that it does. */
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
  deps: StartDeps,
  from: {
    readonly context: RequestContext
    readonly request: RunRequest
    readonly session: string
  },
): Promise<Submitted> {
  const { request, session, context } = from
  const key = readIdempotencyKey(context.raw.headers)
  const asking = context.caller
  const model = request.model === undefined ? undefined : checkModel(deps, asking, request.model)
  const limits = toLimits(request.limits)
  const { requireApproval, clientTools, parameters } = request
  checkPatterns(requireApproval ?? [], [
    ...(await deps.agents.toolNames(requireApproval ?? [])),
    ...(clientTools ?? []).map(({ name }) => name),
  ])
  // No agent: a run does not make a missing session. An empty list and no list are the same request.
  const ask = {
    session,
    messages: [toTaskMessage(request)],
    ...defined({ model }),
    ...(parameters && { parameters: toParameters(parameters) }),
    ...defined({ limits }),
    ...(requireApproval?.length && { requireApproval }),
    ...(clientTools?.length && { clientTools }),
    ...(request.mayAsk === true && { mayAsk: true }),
    ...defined({ persona: request.persona }),
    pauses: 'park' as const,
    mayRaise: true,
    ...context.trace(),
  }
  return submitAsCaller({ ...deps, asking }, context, ask, { key, origin: 'api' })
}
