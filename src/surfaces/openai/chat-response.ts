import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import {
  betweenTurns,
  type Change,
  type ClientCall,
  contentOf,
  type TokenCount,
  createFold,
} from './fold.ts'
import { type WirePlace, toCallId, type PlaceInSession } from './wire-ids.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import { brokenOff, type StreamView } from '#platform/routes/event-stream.ts'

/** The fields that a chat completion shares with each of its chunks. */
export interface CompletionHead {
  readonly id: string
  /** Epoch seconds. */
  readonly created: number
  /** As the caller asked for it. */
  readonly model: string
}

/** A run that hit a limit keeps what it has: to a chat client that is an answer cut for length. */
export function finishReasonOf(result: AgentResult): 'stop' | 'length' | 'content_filter' {
  return result.state === 'stopped' ? 'length' : (result.finishReason ?? 'stop')
}

/** Why a run that was stopped by a limit has no more to say than it said, and how to go on; empty for any other. */
export function noteOf({ state, result, error }: AgentResult): string {
  const isTold = state !== 'stopped' || result === '' || !error
  return isTold ? '' : `(Stopped: ${error.message} ${error.code})`
}

type Waiting = Pick<Extract<Change, { readonly type: 'limit' }>, 'code' | 'message' | 'call'>

/** How a run goes on that waits at a limit, or goes round in circles. */
export const howToGoOn = ({ session, run }: WirePlace, { code, call }: Waiting): string =>
  code === 'loop_suspected'
    ? `Let it go on with POST /api/sessions/${session}/runs/${run}/decisions ` +
      `{"call":"${call}","decision":"approve"} or \`isola approval approve ${session} ${call}\`; "deny" ends it.`
    : `Raise it with POST /api/sessions/${session}/runs/${run}/limits or \`isola run raise ${session} ` +
      `${run}\`: it goes on then.`

/** The error of a run that has no answer to give; `undefined` for one that has. */
export function faultOf(result: AgentResult): Error | undefined {
  switch (result.state) {
    case 'completed':
      return undefined
    case 'stopped':
      return result.result === '' ? usedUpOf(result) : undefined
    case 'cancelled':
      return new IsolaError('request_conflict', 'The run was cancelled before it had an answer.')
    case 'failed':
      // The code belongs to a family or to none: in that case the caller gets the request id alone.
      return Object.assign(new Error(result.error?.message ?? 'The run failed.'), {
        code: result.error?.code,
      })
  }
}

const dayMs = 86_400_000

/** The day of the principal cannot pay for the first call that would have said something: no answer to show. */
function usedUpOf({ error, finishedAtMs }: AgentResult): Error | undefined {
  if (error?.code !== 'request_insufficient_quota') return undefined
  return new IsolaError(error.code, error.message, { retryAfterMs: dayMs - (finishedAtMs % dayMs) })
}

/** @param tokens What this response took, if it is only a part of the run. */
export function toCompletion(
  head: CompletionHead,
  result: AgentResult,
  tokens: TokenCount = result.usage,
) {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: withNote(result), refusal: null },
        finish_reason: finishReasonOf(result),
        logprobs: null,
      },
    ],
    usage: toUsage(tokens),
  }
}

const withNote = (result: AgentResult): string =>
  [contentOf(result), noteOf(result)].filter(Boolean).join(betweenTurns)

/** An answer as far as it has come: its run waits at a limit. */
export const toWaitingCompletion = (
  head: CompletionHead,
  answer: { readonly text: string; readonly note: string; readonly tokens: TokenCount },
) => {
  const content = [answer.text, answer.note].filter(Boolean).join(betweenTurns)
  return {
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        finish_reason: 'length',
        logprobs: null,
      },
    ],
    usage: toUsage(answer.tokens),
  }
}

/** The text for a chat client about a limit that its run waits at. */
export const waitingNote = (waiting: Waiting, place: WirePlace): string =>
  `(${waiting.message} ${howToGoOn(place, waiting)})`

/** An answer that asks the client to run its own tools. */
export function toCallingCompletion(
  head: CompletionHead,
  answer: {
    readonly text: string
    readonly toolCalls: readonly object[]
    readonly tokens: TokenCount
  },
) {
  const { text, toolCalls, tokens } = answer
  const content = text === '' ? null : text
  return {
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null, tool_calls: toolCalls },
        finish_reason: 'tool_calls',
        logprobs: null,
      },
    ],
    usage: toUsage(tokens),
  }
}

/** Calls for the client, with ids that say to which run they belong. */
export const toToolCalls = (place: WirePlace, calls: readonly ClientCall[]) =>
  calls.map(({ call, tool, input }) => ({
    id: toCallId(place, call),
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }))

/** Token counts under the names of chat completions. */
export function toUsage(usage: TokenCount) {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/** The run to show as chunks, and whether its tokens follow at the end. */
interface ChatStreamOptions {
  readonly head: CompletionHead
  readonly place: PlaceInSession
  readonly includeUsage: boolean
  readonly requestId: string
  readonly onFault: (error: unknown) => void
}

/**
 * Shows a run as chat completion chunks: the text of every turn, never our own tools. Chunks are put together
 * from strings, since there is one for each piece of text.
 */
export function createChatStream(options: ChatStreamOptions): StreamView {
  const { head, place, includeUsage } = options
  const { run, turn: after } = place
  const fold = createFold(place)
  const sharedBy = (model: string) =>
    `"id":${JSON.stringify(head.id)},"object":"chat.completion.chunk",` +
    `"created":${head.created},"model":${JSON.stringify(model)}`
  let shared = sharedBy(head.model)
  const noUsage = includeUsage ? ',"usage":null' : ''
  const chunk = (delta: string, finishReason: string) =>
    `data: {${shared},"choices":[{"index":0,"delta":${delta},"finish_reason":${finishReason}}]${noUsage}}\n\n`
  const content = (text: string) =>
    text === '' ? '' : chunk(`{"content":${JSON.stringify(text)}}`, 'null')

  let hasSpoken = false
  let isComplete = false
  let fault: Error | undefined

  const begin = (text: string): string => {
    const between = hasSpoken ? betweenTurns : ''
    hasSpoken = true
    return content(between + text)
  }

  const fail = (error: unknown, reference = options.requestId): string => {
    isComplete = true
    fault = error instanceof Error ? error : brokenOff(error)
    const outgoing = toOutgoingError(error, reference)
    if (outgoing.status >= 500) options.onFault(error)
    return `data: ${JSON.stringify(outgoing.body)}\n\n`
  }

  const finish = (result: AgentResult): string => {
    const failure = faultOf(result)
    if (failure) return fail(failure, run)
    isComplete = true
    const note = noteOf(result)
    return (
      (note && begin(note)) +
      last(finishReasonOf(result), after === 0 ? result.usage : fold.tokens())
    )
  }
  const last = (finishReason: string, tokens: TokenCount): string => {
    // The last chunks name the model that answered, once the record has it.
    shared = sharedBy(fold.insteadOf(head.model) ?? head.model)
    const usage = includeUsage
      ? `data: {${shared},"choices":[],"usage":${JSON.stringify(toUsage(tokens))}}\n\n`
      : ''
    return `${chunk('{}', `"${finishReason}"`)}${usage}data: [DONE]\n\n`
  }

  /** The client's turn: its calls go out, each whole. */
  const callOut = (calls: readonly ClientCall[]): string => {
    isComplete = true
    const chunks = toToolCalls(place, calls).map((call, index) =>
      chunk(`{"tool_calls":[${JSON.stringify({ index, ...call })}]}`, 'null'),
    )
    return chunks.join('') + last('tool_calls', fold.tokens())
  }

  const show = (change: Change): string => {
    switch (change.type) {
      case 'text':
        return change.offset === 0 ? begin(change.text) : content(change.text)
      case 'message':
        return ''
      case 'calls':
        return callOut(change.calls)
      case 'limit':
        isComplete = true
        return begin(waitingNote(change, place)) + last('length', fold.tokens())
      case 'end':
        return finish(change.result)
    }
  }

  return {
    opening: chunk('{"role":"assistant","content":"","refusal":null}', 'null'),
    show: (item) => {
      let text = ''
      for (const change of fold.apply(item)) text += show(change)
      return text
    },
    isComplete: () => isComplete,
    fault: () => (hasSpoken ? undefined : fault),
    close: () => (isComplete ? '' : fail(brokenOff())),
    fail: (error) => fail(error),
  }
}
