import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { ModelParameters } from '#contracts/model.ts'
import type { Principal } from '#contracts/operations.ts'
import { sessionProtocol, type SubmitRequest } from '#contracts/submission.ts'
import { askedBy } from '../../asked-by.ts'
import type { HttpContext, HttpDeps, HttpHandler } from '../../deps.ts'
import { readJsonObject } from '../../body.ts'
import { isSessionId, readIdempotencyKey, readPrintable, readTrace } from '../../headers.ts'
import { errorResponse, jsonResponse } from '../../responses.ts'
import { resolveTarget } from '../../targets.ts'
import { toResponseFormat } from '../chat-request.ts'
import { faultOf } from '../chat-response.ts'
import { sessionFor } from '../chat-submission.ts'
import { chooseTools, clientToolNames, toClientTools } from '../client-tools.ts'
import { type History, invalid, toHistory } from '../history.ts'
import { carryOut, type Plan, planAfter, planAlone, planIn } from '../plan.ts'
import { headersFor, streamRun } from '../run-response.ts'
import {
  parseConversationId,
  parseResponseId,
  type PlaceInSession,
  toConversationId,
} from '../wire-ids.ts'
import { answerCompaction, asksForCompaction } from './compact.ts'
import { referencedRuns, toSaidItems } from './input-items.ts'
import { resolveItems } from './referenced-items.ts'
import { toEcho, toResource } from './resource.ts'
import { parseResponseRequest, type ResponseRequest } from './response-request.ts'
import { createResponseView } from './response-view.ts'
import { readAnswer } from './stored-response.ts'

/** `POST /v1/responses` (M6), as the Open Responses specification of 2026-04-24 has it. */
export function createResponses(deps: HttpDeps): HttpHandler {
  return async (context) => {
    const request = parseResponseRequest(await readJsonObject(context.req.raw))
    if (asksForCompaction(request)) return answerCompaction(deps, context, request)
    const planned = await toPlanned(deps, context, request)
    try {
      if (request.stream === true) return await answerInPieces(deps, context, planned)
      if (request.background === true) return await answerInBackground(deps, planned)
      return await answerAtOnce(deps, context, planned)
    } catch (error) {
      if (errorCode(error) !== 'request_not_found') throw error
      throw notThere(request) ?? error
    }
  }
}

/** What the request names and is absent, deleted, or another's. */
function notThere(request: ResponseRequest): IsolaError | undefined {
  const absent = (param: string, what: string) =>
    new IsolaError('request_not_found', `${param}: there is no such ${what}.`, { param })
  if (request.previous_response_id) return absent('previous_response_id', 'response')
  return request.conversation ? absent('conversation', 'conversation') : undefined
}

interface Planned {
  readonly plan: Plan
  readonly submissionOf: (plan: Plan) => SubmitRequest
  readonly echo: ReturnType<typeof toEcho>
}

async function toPlanned(
  deps: HttpDeps,
  context: HttpContext,
  request: ResponseRequest,
): Promise<Planned> {
  const { headers } = context.req.raw
  const asking = context.get('principal')
  const principal = asking.id
  const idempotencyKey = readIdempotencyKey(headers)
  const target = resolveTarget(deps, asking, request.model)
  const history = await readHistory(deps, principal, request.input)
  const tools = toClientTools(
    request.tools,
    await deps.agents.toolNames(clientToolNames(request.tools)),
  )
  const { clientTools, toolChoice } = chooseTools(tools, request.tool_choice)
  const plan = await planOf(deps, { request, history, asking, headers, idempotencyKey })
  const conversation = request.conversation ? toConversationId(plan.session) : undefined
  const echo = toEcho(request, tools, conversation)
  const instructions = [request.instructions, history.instructions].filter(Boolean).join('\n\n')
  const base: Omit<SubmitRequest, 'messages'> = {
    ...askedBy(context),
    agent: target.agent,
    ...(instructions !== '' && { clientInstructions: instructions }),
    ...(target.model !== undefined && { model: target.model }),
    parameters: toParameters(request, toolChoice),
    ...readTrace(context, deps.sources),
    protocol: sessionProtocol,
    pauses: 'client_tools',
    ...(clientTools.length > 0 && { clientTools }),
    ...(request.max_tool_calls && { limits: { maxToolCalls: request.max_tool_calls } }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    // A session that others named stays theirs.
    ...(request.store === false && isAlone(request, headers) && { isStateless: true }),
    // Who named the session, or asks for the response later, can raise a limit.
    ...((request.background === true || !isAlone(request, headers)) && { mayRaise: true }),
    echo,
  }
  return { plan, submissionOf: ({ request: planned }) => ({ ...base, ...planned }), echo }
}

const isAlone = (request: ResponseRequest, headers: Headers): boolean =>
  !request.previous_response_id && !request.conversation && !headers.has('x-isola-session')

async function readHistory(
  deps: HttpDeps,
  principal: string,
  input: ResponseRequest['input'],
): Promise<History> {
  if (typeof input === 'string') {
    return toHistory([{ kind: 'user', text: input, images: [], at: 'input' }], 'input')
  }
  const resolve = await resolveItems(deps, principal, referencedRuns(input))
  const history = toHistory(toSaidItems(input, 'input', resolve), 'input')
  const last = history.messages.at(-1)
  if (history.orphans.length === 0 && (!last || last.role === 'assistant')) {
    throw invalid('input', 'ends with nothing to answer: add a message of the user or an output')
  }
  return history
}

async function planOf(
  deps: HttpDeps,
  from: {
    readonly request: ResponseRequest
    readonly history: History
    readonly asking: Principal
    readonly headers: Headers
    readonly idempotencyKey: string | undefined
  },
): Promise<Plan> {
  const { request, history, asking, headers, idempotencyKey } = from
  const { previous_response_id: previous, conversation } = request
  if (previous) {
    const place = parseResponseId(previous)
    if (place) return planAfter(place, history)
    throw invalid('previous_response_id', 'is no id of a response')
  }
  if (conversation) {
    const session = parseConversationId(
      typeof conversation === 'string' ? conversation : conversation.id,
    )
    if (session) return planIn(session, history, true)
    throw invalid('conversation', 'is no id of a conversation')
  }
  const named = readPrintable(headers, 'x-isola-session', 200)
  const session = await sessionFor(deps, { principal: asking, named, idempotencyKey })
  return named === undefined
    ? planAlone(session, history)
    : planIn(session, history, isSessionId(named))
}

function toParameters(
  request: ResponseRequest,
  toolChoice: ModelParameters['toolChoice'],
): ModelParameters {
  const format = request.text?.format
  const responseFormat = toResponseFormat(
    format?.type,
    format?.type === 'json_schema' ? format : undefined,
  )
  return {
    ...(request.temperature != null && { temperature: request.temperature }),
    ...(request.top_p != null && { topP: request.top_p }),
    ...(request.max_output_tokens != null && { maxOutputTokens: request.max_output_tokens }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(request.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(responseFormat && { responseFormat }),
  }
}

const seconds = (ms: number) => Math.floor(ms / 1_000)

function answerInPieces(
  deps: HttpDeps,
  context: HttpContext,
  { plan, submissionOf, echo }: Planned,
): Promise<Response> {
  const requestId = context.get('requestId')
  return streamRun(deps, context, {
    plan,
    submissionOf,
    isBackground: echo['background'] === true,
    viewOf: (place, { createdAtMs }) =>
      createResponseView({
        head: { place, echo, createdAt: seconds(createdAtMs) },
        requestId,
        onFault: (error) => deps.onFault?.(error, requestId),
      }),
  })
}

async function answerInBackground(
  deps: HttpDeps,
  { plan: first, submissionOf, echo }: Planned,
): Promise<Response> {
  const { plan, value } = await carryOut(first, (next) =>
    deps.sessions.at(next.session).submit(next.session, submissionOf(next)),
  )
  const { run, createdAtMs } = value
  const place = { session: plan.session, run, turn: plan.turn }
  const head = { place, echo, createdAt: seconds(createdAtMs) }
  return jsonResponse(toResource(head, { status: 'queued' }), { headers: headersFor(place) })
}

async function answerAtOnce(
  deps: HttpDeps,
  context: HttpContext,
  { plan: first, submissionOf }: Planned,
): Promise<Response> {
  const { plan, value: outcome } = await carryOut(first, (next) =>
    deps.sessions.at(next.session).run(next.session, submissionOf(next)),
  )
  const { id: run, trace } = outcome
  const place: PlaceInSession = { session: plan.session, run, turn: plan.turn }
  const headers = headersFor({ session: plan.session, run, trace })
  // Before it was answered at all: a failure is a status, as for every other request.
  const fault = outcome.state === 'parked' ? undefined : faultOf(outcome)
  if (fault) return errorResponse(context, fault, { deps, headers, run })
  return jsonResponse(await readAnswer(deps, context, place), { headers })
}
