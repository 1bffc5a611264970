import type { ModelParameters } from '#contracts/model.ts'
import { sessionProtocol, type SubmitRequest } from '#contracts/submission.ts'
import type { Principal } from '#contracts/operations.ts'
import { askedBy } from '../asked-by.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { isSessionId, readIdempotencyKey, readPrintable, readTrace } from '../headers.ts'
import { resolveTarget } from '../targets.ts'
import { toConversation } from './chat-messages.ts'
import { type ChatRequest, toResponseFormat } from './chat-request.ts'
import { chooseTools, clientToolNames, toClientTools } from './client-tools.ts'
import { type Plan, planAlone, planIn } from './plan.ts'

/** Where a request goes, and what is submitted there once that is known. */
export interface PlannedSubmission {
  readonly plan: Plan
  readonly submissionOf: (plan: Plan) => SubmitRequest
}

/** Where a chat request goes and what it asks there. */
export async function toSubmission(
  deps: HttpDeps,
  context: HttpContext,
  request: ChatRequest,
): Promise<PlannedSubmission> {
  const { headers } = context.req.raw
  const rights = context.get('principal')
  const idempotencyKey = readIdempotencyKey(headers)
  const named = readPrintable(headers, 'x-isola-session', 200)
  const target = resolveTarget(deps, rights, request.model)
  const conversation = toConversation(request.messages, { appendOnly: named !== undefined })
  const tools = chooseTools(
    toClientTools(request.tools, await deps.agents.toolNames(clientToolNames(request.tools))),
    request.tool_choice,
  )
  const session = await sessionFor(deps, { principal: rights, named, idempotencyKey })
  const base: Omit<SubmitRequest, 'messages'> = {
    ...askedBy(context),
    agent: target.agent,
    ...(conversation.instructions !== undefined && {
      clientInstructions: conversation.instructions,
    }),
    ...(target.model !== undefined && { model: target.model }),
    parameters: toParameters(request, tools.toolChoice),
    ...readTrace(context, deps.sources),
    protocol: sessionProtocol,
    // A chat client runs its own tools; it has no way to approve or to answer: what needs that fails and says so.
    pauses: 'client_tools',
    ...(tools.clientTools.length > 0 && { clientTools: tools.clientTools }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    // Who named the session comes back to it, and can raise a limit.
    ...(named === undefined ? { isStateless: true } : { mayRaise: true }),
  }
  return {
    // An id that we gave out: if it is gone, a new session would silently lack the history.
    plan:
      named === undefined
        ? planAlone(session, conversation)
        : planIn(session, conversation, isSessionId(named)),
    submissionOf: ({ request: planned }) => ({ ...base, ...planned }),
  }
}

/** Only `x-isola-session` names a session; other clients' session headers come with full history. */
export async function sessionFor(
  deps: HttpDeps,
  by: {
    readonly principal: Pick<Principal, 'id' | 'role'>
    readonly named?: string | undefined
    readonly idempotencyKey?: string | undefined
  },
): Promise<string> {
  const principal = by.principal.id
  if (by.named !== undefined) {
    if (isSessionId(by.named)) return by.named
    const session = await deps.sessions.idFor('named', [principal, by.named])
    await deps.limits.newSession(by.principal, session)
    return session
  }
  // A retry must meet the run of the first attempt, so the key, not chance, names the session. Three parts:
  // no name that a client can choose gives the same id.
  if (by.idempotencyKey !== undefined) {
    return deps.sessions.idFor('named', [principal, 'idempotency-key', by.idempotencyKey])
  }
  return deps.sources.ids.next('ses')
}

function toParameters(
  request: ChatRequest,
  toolChoice: ModelParameters['toolChoice'],
): ModelParameters {
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens
  const { response_format: format } = request
  const schema = format?.type === 'json_schema' ? format.json_schema : undefined
  const responseFormat = toResponseFormat(format?.type, schema)
  return {
    ...(request.temperature != null && { temperature: request.temperature }),
    ...(request.top_p != null && { topP: request.top_p }),
    ...(maxOutputTokens != null && { maxOutputTokens }),
    ...(request.stop != null && {
      stop: typeof request.stop === 'string' ? [request.stop] : request.stop,
    }),
    ...(request.seed != null && { seed: request.seed }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(request.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(responseFormat && { responseFormat }),
  }
}
