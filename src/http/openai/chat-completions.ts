import { IsolaError } from '#contracts/errors.ts'
import type { HttpContext, HttpDeps, HttpHandler } from '../deps.ts'
import { readJsonObject } from '../body.ts'
import { toEventStream } from '../event-stream.ts'
import { errorResponse, eventStreamResponse, jsonResponse, replayed, unwrap } from '../responses.ts'
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
  const { id: run, trace } = result
  const headers = headersFor({ session, run, trace })
  // A completion is asked for with `pauses: 'refuse'`; should a run wait all the same, its answer is not here.
  if (result.state === 'parked')
    return errorResponse(context, waiting(session, run), { deps, headers, run })
  const fault = faultOf(result)
  if (fault) return errorResponse(context, fault, { deps, headers, run })
  return jsonResponse(toCompletion(headOf(request, run, result.startedAtMs), result), { headers })
}

function waiting(session: string, run: string): IsolaError {
  const message = `The run waits for someone outside: see GET /api/sessions/${session}/runs/${run}.`
  return new IsolaError('request_conflict', message)
}

async function answerInPieces(
  deps: HttpDeps,
  { context, request, addressed }: Asked,
): Promise<Response> {
  const { session, submission } = addressed
  const { receipt, reader, stream } = unwrap(
    await deps.sessions.at(session).runStream(session, submission),
  )
  const { run, isJoined } = receipt
  const requestId = context.get('requestId')
  const view = createChatStream({
    head: headOf(request, run, receipt.createdAtMs),
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
  // A run that was there has the trace of the request that began it, which is not this one's.
  const about = { session, run, ...(!isJoined && { trace: submission.trace }) }
  return eventStreamResponse(body, { ...headersFor(about), ...replayed(isJoined) })
}

/** All of it is the run's, so that a repeated request is answered alike. */
function headOf({ model }: ChatRequest, run: string, atMs: number): CompletionHead {
  return { id: `chatcmpl-${run}`, created: Math.floor(atMs / 1_000), model }
}

function headersFor(about: {
  readonly session: string
  readonly run: string
  readonly trace?: string
}): Readonly<Record<string, string>> {
  return {
    'x-isola-session': about.session,
    'x-isola-run': about.run,
    ...(about.trace !== undefined && { 'x-isola-trace': about.trace }),
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
