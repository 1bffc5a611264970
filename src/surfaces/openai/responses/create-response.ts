import { defined } from '#contracts/defined.ts'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import { type OpenaiDeps, type ParsedRequest, toWork, type Work } from '../work.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import { toResponseFormat } from '../chat-request.ts'
import { faultOf } from '../chat-response.ts'
import { type History, invalid, toHistory } from '../history.ts'
import { createInlineImages } from '../inline-images.ts'
import { checkAnswerable } from '../said-parts.ts'
import { headersFor, streamRun } from '../run-response.ts'
import {
  parseConversationId,
  parseResponseId,
  type PlaceInSession,
  toConversationId,
} from '../wire-ids.ts'
import { answerCompaction, asksForCompaction } from './compact.ts'
import { referencedRuns, sinceCompaction, toSaidItems, resolveItems } from './input-items.ts'
import { toEcho, toResource } from './resource.ts'
import { parseResponseRequest, type ResponseRequest } from './response-request.ts'
import { createResponseView } from './response-view.ts'
import { readAnswer } from './stored-response.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** `POST /v1/responses` (M6), as the Open Responses specification of 2026-04-24 has it. */
export async function createResponse(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const request = parseResponseRequest(await readJsonObject(context.raw))
  if (asksForCompaction(request)) return answerCompaction(deps, context, request)
  const work = await toWork(deps, context, fromResponses(deps, context, request))
  try {
    if (request.stream === true) return await answerInPieces(deps, context, work)
    if (work.isBackground) return await answerInBackground(work)
    return await answerAtOnce(deps, context, work)
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    throw notThere(request) ?? error
  }
}

/** The error for a named response or conversation that is absent, deleted, or another principal's. */
function notThere(request: ResponseRequest): IsolaError | undefined {
  const absent = (param: string, what: string) =>
    new IsolaError('request_not_found', `${param}: there is no such ${what}.`, { param })
  if (request.previous_response_id) return absent('previous_response_id', 'response')
  return request.conversation ? absent('conversation', 'conversation') : undefined
}

/** A request for a response in the words that both APIs have in common. */
function fromResponses(
  deps: OpenaiDeps,
  context: RequestContext,
  request: ResponseRequest,
): ParsedRequest {
  const format = request.text?.format
  const schema = format?.type === 'json_schema' ? format : undefined
  const place = placeOf(request)
  return {
    origin: 'responses',
    model: request.model,
    instructions: request.instructions,
    sampling: {
      temperature: request.temperature,
      topP: request.top_p,
      maxOutputTokens: request.max_output_tokens,
    },
    responseFormat: toResponseFormat(format?.type, schema),
    ...(request.max_tool_calls && { limits: { maxToolCalls: request.max_tool_calls } }),
    tools: request.tools,
    toolChoice: request.tool_choice,
    isParallel: request.parallel_tool_calls,
    history: () => readHistory(deps, context, request.input),
    ...defined({ place }),
    isKept: request.store !== false,
    isBackground: request.background === true,
    echo: (session, tools) =>
      toEcho(request, tools, request.conversation ? toConversationId(session) : undefined),
  }
}

/** Where a request says that it goes on. */
function placeOf({ previous_response_id: previous, conversation }: ResponseRequest) {
  if (previous)
    return () => {
      const place = parseResponseId(previous)
      if (place) return place
      throw invalid('previous_response_id', 'is no id of a response')
    }
  if (!conversation) return undefined
  return () => {
    const id = typeof conversation === 'string' ? conversation : conversation.id
    const session = parseConversationId(id)
    if (session !== undefined) return { session }
    throw invalid('conversation', 'is no id of a conversation')
  }
}

async function readHistory(
  deps: OpenaiDeps,
  context: RequestContext,
  input: ResponseRequest['input'],
): Promise<History> {
  const inline = createInlineImages(deps, context)
  if (typeof input === 'string') {
    return toHistory([{ kind: 'user', text: input, images: [], at: 'input' }], 'input')
  }
  const resolve = await resolveItems(deps, context.caller.id, referencedRuns(input))
  const items = toSaidItems(input, 'input', resolve)
  checkAnswerable(items, () => 'input')
  return toHistory(sinceCompaction(await inline(items)), 'input')
}

const seconds = (ms: number) => Math.floor(ms / 1_000)

function answerInPieces(deps: OpenaiDeps, context: RequestContext, work: Work): Promise<Response> {
  const requestId = context.requestId
  return streamRun(deps, context, {
    work,
    viewOf: (place, { createdAtMs }) =>
      createResponseView({
        head: { place, echo: work.echo, createdAt: seconds(createdAtMs) },
        requestId,
        onFault: (error) => deps.onFault?.(error, requestId),
      }),
  })
}

async function answerInBackground(work: Work): Promise<Response> {
  const { plan, value } = await work.submit()
  const { run, createdAtMs } = value
  const place = { session: plan.session, run, turn: plan.turn }
  const head = { place, echo: work.echo, createdAt: seconds(createdAtMs) }
  return jsonResponse(toResource(head, { status: 'queued' }), { headers: headersFor(place) })
}

async function answerAtOnce(
  deps: OpenaiDeps,
  context: RequestContext,
  work: Work,
): Promise<Response> {
  const { plan, value: outcome } = await work.run()
  const { id: run, trace } = outcome
  const place: PlaceInSession = { session: plan.session, run, turn: plan.turn }
  const headers = headersFor({ session: plan.session, run, trace })
  // Before it was answered at all: a failure is a status, as for every other request.
  const fault = outcome.state === 'parked' ? undefined : faultOf(outcome)
  if (fault) return context.refuse(fault, { headers, run })
  return jsonResponse(await readAnswer(deps, context, place), { headers })
}
