import {
  type ChatMessage,
  type ChatRequest,
  toResponseFormat,
  parseChatRequest,
} from './chat-request.ts'
import { type History, invalid, type Said, toHistory } from './history.ts'
import { type InlineImages, createInlineImages } from './inline-images.ts'
import { checkAnswerable, type SaidPart, toSaidMessage, toSaidOutput } from './said-parts.ts'
import { type ParsedRequest, toWork, type Work, type OpenaiDeps } from './work.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import { brokenOff } from '#platform/routes/event-stream.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import { fullName } from '#platform/routes/targets.ts'
import {
  createChatStream,
  type CompletionHead,
  faultOf,
  toCallingCompletion,
  toCompletion,
  toToolCalls,
  toWaitingCompletion,
  waitingNote,
} from './chat-response.ts'
import { betweenTurns, type Change } from './fold.ts'
import { foldResponse, headersFor, streamRun } from './run-response.ts'
import type { PlaceInSession } from './wire-ids.ts'
import type { RequestContext } from '#platform/routes/request.ts'

type Content = ChatMessage['content']

/**
 * Checks the order of a conversation and converts it, with the pictures that it names by address. Throws
 * `request_invalid` naming the message.
 *
 * @param appendOnly The session has the history: only what follows the last assistant message is taken.
 */
async function toConversation(
  all: readonly ChatMessage[],
  options: { readonly appendOnly: boolean; readonly inline: InlineImages },
): Promise<History> {
  const start = options.appendOnly ? all.findLastIndex(({ role }) => role === 'assistant') + 1 : 0
  const tools = new Map(
    all.flatMap((message) =>
      message.role === 'assistant'
        ? (message.tool_calls ?? []).map(({ id, function: called }) => [id, called.name] as const)
        : [],
    ),
  )
  const said = all.flatMap((message, index) => {
    const isInstruction = message.role === 'system' || message.role === 'developer'
    return isInstruction || index >= start ? toSaid(message, index, tools) : []
  })
  checkAnswerable(said, (last) => `${last?.at ?? `messages[${all.length - 1}]`}.role`)
  const history = toHistory(await options.inline(said))
  const [orphan] = history.orphans
  if (orphan && start === 0) {
    throw invalid(orphan.at, 'answers no call of the assistant message before it')
  }
  return history
}

function toSaid(
  message: ChatMessage,
  index: number,
  tools: ReadonlyMap<string, string>,
): readonly Said[] {
  const at = `messages[${index}]`
  const parts = toParts(message.content, at)
  const { role, name } = message
  switch (role) {
    case 'system':
    case 'developer':
    case 'user':
      return [toSaidMessage(role, parts, { at, name })]
    case 'assistant':
      return [
        toSaidMessage(role, parts, { at, name }),
        ...(message.tool_calls ?? []).map(({ id, function: called }) => {
          return { kind: 'call', callId: id, ...called, at } as const
        }),
      ]
    case 'tool': {
      const { tool_call_id: callId } = message
      const tool = tools.get(callId) ?? name ?? undefined
      return toSaidOutput(callId, tool, parts, { at: `${at}.tool_call_id`, partsAt: at })
    }
  }
}

function toParts(content: Content, at: string): readonly SaidPart[] {
  const all = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return (all ?? []).map((given, index): SaidPart => {
    const place = `${at}.content[${index}]`
    switch (given.type) {
      case 'text':
        return { part: { type: 'text', text: given.text }, at: place }
      case 'refusal':
        return { part: { type: 'text', text: given.refusal }, at: place }
      case 'image_url': {
        const { url, detail } = given.image_url
        const part = { type: 'image', url, ...(detail && { detail }) } as const
        return { part, at: `${place}.image_url.url` }
      }
    }
  })
}

/**
 * A chat request in the terms that both APIs share. No client comes back for its run, except in a session that it
 * names.
 */
function fromChat(request: ChatRequest, inline: InlineImages): ParsedRequest {
  const { messages, model, response_format: format, stop } = request
  const schema = format?.type === 'json_schema' ? format.json_schema : undefined
  return {
    origin: 'chat',
    model,
    sampling: {
      temperature: request.temperature,
      topP: request.top_p,
      maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
      stop: typeof stop === 'string' ? [stop] : stop,
      seed: request.seed,
    },
    responseFormat: toResponseFormat(format?.type, schema),
    tools: request.tools,
    toolChoice: request.tool_choice,
    isParallel: request.parallel_tool_calls,
    history: async (appendOnly) => toConversation(messages, { appendOnly, inline }),
    isKept: false,
    isBackground: false,
  }
}

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
