import type { ModelParameters } from '#contracts/model.ts'
import { sessionProtocol, type SubmitRequest } from '#contracts/session.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { isSessionId, readIdempotencyKey, readPrintable, readTrace } from '../headers.ts'
import { resolveTarget } from '../targets.ts'
import { toConversation } from './chat-messages.ts'
import type { ChatRequest } from './chat-request.ts'

export interface AddressedSubmission {
  readonly session: string
  readonly submission: SubmitRequest
}

/** Where a chat request goes and what it asks there. */
export async function toSubmission(
  deps: HttpDeps,
  context: HttpContext,
  request: ChatRequest,
): Promise<AddressedSubmission> {
  const { headers } = context.req.raw
  const { id: principal, ...rights } = context.get('principal')
  const idempotencyKey = readIdempotencyKey(headers)
  const named = readPrintable(headers, 'x-isola-session', 200)
  const target = resolveTarget(deps, rights, request.model)
  const conversation = toConversation(request.messages, { appendOnly: named !== undefined })
  return {
    session: await sessionFor(deps, { principal, named, idempotencyKey }),
    submission: {
      agent: target.agent,
      // An id that we gave out: if it is gone, a new session would silently lack the history.
      ...(named !== undefined && isSessionId(named) && { mustExist: true }),
      principal,
      ...(rights.key !== undefined && { key: rights.key }),
      ...(rights.limits && { dayLimits: rights.limits }),
      messages: conversation.messages,
      ...(conversation.instructions !== undefined && {
        clientInstructions: conversation.instructions,
      }),
      ...(target.model !== undefined && { model: target.model }),
      parameters: toParameters(request),
      trace: readTrace(headers, deps.sources),
      protocol: sessionProtocol,
      // A chat client has no way to approve or to answer: what needs it fails and says so.
      pauses: 'refuse',
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    },
  }
}

/** Only `x-isola-session` names a session; other clients' session headers come with full history. */
async function sessionFor(
  deps: HttpDeps,
  by: {
    readonly principal: string
    readonly named?: string | undefined
    readonly idempotencyKey?: string | undefined
  },
): Promise<string> {
  if (by.named !== undefined) {
    return isSessionId(by.named) ? by.named : deps.sessions.idFor('named', [by.principal, by.named])
  }
  // A retry must meet the run of the first attempt, so the key, not chance, names the session. Three parts:
  // no name that a client can choose gives the same id.
  if (by.idempotencyKey !== undefined) {
    return deps.sessions.idFor('named', [by.principal, 'idempotency-key', by.idempotencyKey])
  }
  return deps.sources.ids.next('ses')
}

function toParameters(request: ChatRequest): ModelParameters {
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens
  return {
    ...(request.temperature != null && { temperature: request.temperature }),
    ...(request.top_p != null && { topP: request.top_p }),
    ...(maxOutputTokens != null && { maxOutputTokens }),
    ...(request.stop != null && {
      stop: typeof request.stop === 'string' ? [request.stop] : request.stop,
    }),
    ...(request.seed != null && { seed: request.seed }),
  }
}
