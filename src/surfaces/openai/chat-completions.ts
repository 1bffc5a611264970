import type { AgentResult } from '#contracts/agent.ts'
import type { OpenaiDeps } from './deps.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import { brokenOff } from '#platform/routes/event-stream.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { fullName } from '#platform/routes/targets.ts'
import { createChatStream } from './chat-stream.ts'
import {
  type CompletionHead,
  faultOf,
  toCallingCompletion,
  toCompletion,
  toToolCalls,
  toWaitingCompletion,
  waitingNote,
} from './chat-response.ts'
import { type ChatRequest, parseChatRequest } from './chat-request.ts'
import { betweenTurns, type Change } from './fold.ts'
import { fromChat } from './from-chat.ts'
import { createInlineImages } from './inline-images.ts'
import { foldResponse, headersFor, streamRun } from './run-response.ts'
import type { PlaceInSession } from './wire-ids.ts'
import { toWork, type Work } from './work.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** `POST /v1/chat/completions` (M6). A run that is not streamed finishes, also after its client left. */
export async function answerChat(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const request = parseChatRequest(await readJsonObject(context.raw))
  const inline = createInlineImages(deps, context)
  const work = await toWork(deps, context, fromChat(request, inline))
  return request.stream === true
    ? answerInPieces(deps, { context, request, work })
    : answerAtOnce(deps, { context, request, work })
}

interface Asked {
  readonly context: RequestContext
  readonly request: ChatRequest
  readonly work: Work
}

async function answerAtOnce(
  deps: OpenaiDeps,
  { context, request, work }: Asked,
): Promise<Response> {
  const { plan, value: result } = await work.run()
  const { session, turn } = plan
  const { id: run, trace } = result
  const place = { session, run, turn }
  const headers = headersFor({ session, run, trace })
  if (result.state === 'parked' || turn > 0 || isAnsweredByOther(deps, work.namedModel, result))
    return answerFromLog(deps, { context, request, place, headers })
  const fault = faultOf(result)
  if (fault) return context.refuse(fault, { headers, run })
  const head = headOf(request, place, result.startedAtMs)
  return jsonResponse(toCompletion(head, result), { headers })
}

/** Whether another model than the named one gave the last answer; the log has the model that answered. */
function isAnsweredByOther(
  { models }: OpenaiDeps,
  model: string | undefined,
  { modelCalls }: AgentResult,
): boolean {
  const named = model === undefined ? undefined : fullName(models, model)
  const last = modelCalls.at(-1)
  return named !== undefined && last !== undefined && `${last.provider}/${last.model}` !== named
}

/** A part of a run: up to where it waits for the client, or from there on. */
async function answerFromLog(
  deps: OpenaiDeps,
  about: {
    readonly context: RequestContext
    readonly request: ChatRequest
    readonly place: PlaceInSession
    readonly headers: Readonly<Record<string, string>>
  },
): Promise<Response> {
  const { context, request: asked, place, headers } = about
  const { run } = place
  const principal = context.caller.id
  const log = await deps.entry.readLog(principal, place)
  const { changes, tokens, insteadOf } = foldResponse(log, place)
  const request = { ...asked, model: insteadOf(asked.model) ?? asked.model }
  const end = changes.at(-1)
  if (end?.type === 'calls') {
    const text = textOf(changes)
    const toolCalls = toToolCalls(place, end.calls)
    const head = headOf(request, place, end.atMs)
    return jsonResponse(toCallingCompletion(head, { text, toolCalls, tokens }), { headers })
  }
  if (end?.type === 'limit') {
    const note = waitingNote(end, place)
    const head = headOf(request, place, end.atMs)
    return jsonResponse(toWaitingCompletion(head, { text: textOf(changes), note, tokens }), {
      headers,
    })
  }
  if (end?.type !== 'end') return context.refuse(brokenOff(), { headers, run })
  const fault = faultOf(end.result)
  if (fault) return context.refuse(fault, { headers, run })
  const head = headOf(request, place, end.result.startedAtMs)
  return jsonResponse(toCompletion(head, end.result, tokens), { headers })
}

const textOf = (changes: readonly Change[]): string =>
  changes.flatMap((one) => (one.type === 'message' ? [one.text] : [])).join(betweenTurns)

function answerInPieces(deps: OpenaiDeps, { context, request, work }: Asked): Promise<Response> {
  const requestId = context.requestId
  return streamRun(deps, context, {
    work,
    viewOf: (place, receipt) =>
      createChatStream({
        head: headOf(request, place, receipt.createdAtMs),
        place,
        includeUsage: request.stream_options?.include_usage === true,
        requestId,
        onFault: (error) => deps.onFault?.(error, requestId),
      }),
  })
}

/** All of it is the run's, so that a repeated request is answered alike. */
function headOf(
  { model }: ChatRequest,
  { run, turn }: PlaceInSession,
  atMs: number,
): CompletionHead {
  const id = `chatcmpl-${run}${turn > 0 ? `_${turn}` : ''}`
  return { id, created: Math.floor(atMs / 1_000), model }
}
