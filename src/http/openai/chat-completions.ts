import type { HttpContext, HttpDeps, HttpHandler } from '../deps.ts'
import { readJsonObject } from '../body.ts'
import { toEventStream } from '../event-stream.ts'
import { errorResponse, eventStreamResponse, jsonResponse, unwrap } from '../responses.ts'
import { createChatStream } from './chat-stream.ts'
import { type CompletionHead, faultOf, toCompletion } from './chat-response.ts'
import { type ChatRequest, parseChatRequest } from './chat-request.ts'
import { type AddressedSubmission, toSubmission } from './chat-submission.ts'

/** `POST /v1/chat/completions` (M6). A run that is not streamed finishes, whoever still listens. */
export function createChatCompletions(deps: HttpDeps): HttpHandler {
  return async (context) => {
    const request = parseChatRequest(await readJsonObject(context.req.raw))
    const addressed = await toSubmission(deps, context, request)
    return request.stream === true
      ? answerInPieces(deps, { context, request, addressed })
      : answerAtOnce(deps, { context, request, addressed })
  }
}

interface Asked {
  readonly context: HttpContext
  readonly request: ChatRequest
  readonly addressed: AddressedSubmission
}

async function answerAtOnce(
  deps: HttpDeps,
  { context, request, addressed }: Asked,
): Promise<Response> {
  const { session, submission } = addressed
  const result = unwrap(await deps.sessions.at(session).run(session, submission))
  const fault = faultOf(result)
  const headers = headersFor({ session, run: result.id, trace: result.trace })
  if (fault) return errorResponse(context, fault, { deps, headers })
  return jsonResponse(toCompletion(headOf(deps, request, result.id), result), { headers })
}

async function answerInPieces(
  deps: HttpDeps,
  { context, request, addressed }: Asked,
): Promise<Response> {
  const { session, submission } = addressed
  const { receipt, reader, stream } = unwrap(
    await deps.sessions.at(session).runStream(session, submission),
  )
  const { run } = receipt
  const requestId = context.get('requestId')
  const view = createChatStream({
    head: headOf(deps, request, run),
    run,
    includeUsage: request.stream_options?.include_usage === true,
    requestId,
    onFault: (error) => deps.onFault?.(error, requestId),
  })
  const kept = Promise.withResolvers<void>()
  keepAlive(context, kept.promise)
  const onEnd = (end: 'complete' | 'gone') => {
    if (end === 'complete') return kept.resolve()
    kept.resolve(deps.onClientGone?.({ session, run, reader, principal: submission.principal }))
  }
  const { signal } = context.req.raw
  const body = toEventStream(stream, view, { clock: deps.sources.clock, signal, onEnd })
  return eventStreamResponse(body, headersFor({ session, run, trace: submission.trace }))
}

function headOf(deps: HttpDeps, request: ChatRequest, run: string): CompletionHead {
  const created = Math.floor(deps.sources.clock.nowMs() / 1_000)
  return { id: `chatcmpl-${run}`, created, model: request.model }
}

function headersFor(about: {
  readonly session: string
  readonly run: string
  readonly trace: string
}) {
  return {
    'x-isola-session': about.session,
    'x-isola-run': about.run,
    'x-isola-trace': about.trace,
  }
}

/** Without this what follows a closed connection would be dropped with it. In tests there is no such context. */
function keepAlive(context: HttpContext, promise: Promise<void>): void {
  let execution: HttpContext['executionCtx'] | undefined
  try {
    execution = context.executionCtx
  } catch {
    return
  }
  execution.waitUntil(promise)
}
