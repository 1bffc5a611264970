import type { AgentResult } from '#contracts/agent.ts'
import type { MessageDelta, StreamItem } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { toOutgoingError } from '../errors.ts'
import { brokenOff, type StreamView } from '../event-stream.ts'
import { type ClientCall, createFold, type TokenCount } from './fold.ts'
import { createSpokenText } from './spoken-text.ts'
import {
  type CompletionHead,
  contentOf,
  faultOf,
  finishReasonOf,
  toToolCalls,
  toUsage,
} from './chat-response.ts'
import type { PlaceInSession } from './wire-ids.ts'

/** Which run is shown as chunks, and whether its tokens are told at the end. */
export interface ChatStreamOptions {
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
  const shared =
    `"id":${JSON.stringify(head.id)},"object":"chat.completion.chunk",` +
    `"created":${head.created},"model":${JSON.stringify(head.model)}`
  const noUsage = includeUsage ? ',"usage":null' : ''
  const chunk = (delta: string, finishReason: string) =>
    `data: {${shared},"choices":[{"index":0,"delta":${delta},"finish_reason":${finishReason}}]${noUsage}}\n\n`
  const content = (text: string) =>
    text === '' ? '' : chunk(`{"content":${JSON.stringify(text)}}`, 'null')

  const spoken = createSpokenText()
  let isComplete = false

  const fail = (error: unknown, reference = options.requestId): string => {
    isComplete = true
    const outgoing = toOutgoingError(error, reference)
    if (outgoing.status >= 500) options.onFault(error)
    return `data: ${JSON.stringify(outgoing.body)}\n\n`
  }

  const finish = (result: AgentResult): string => {
    const fault = faultOf(result)
    if (fault) return fail(fault, run)
    isComplete = true
    const text = content(spoken.addFinal({ ...result, result: contentOf(result) }))
    return text + last(finishReasonOf(result), after === 0 ? result.usage : fold.tokens())
  }
  const last = (finishReason: string, tokens: TokenCount): string => {
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

  /** Deltas are not stored: one who joins a run late reads its earlier messages whole. */
  const addFinished = ({ turn, text }: JsonObject): string =>
    typeof turn === 'number' && turn > after && typeof text === 'string'
      ? spoken.add(turn, 0, text)
      : ''

  const finishOrFail = (result: AgentResult | undefined) =>
    result ? finish(result) : fail(brokenOff())

  return {
    opening: chunk('{"role":"assistant","content":"","refusal":null}', 'null'),
    show: (item) => {
      if (item.run !== run) return ''
      if (item.type === 'message_delta') {
        return item.turn > after ? content(spoken.add(item.turn, item.offset, item.text)) : ''
      }
      // Of the fold only calls and tokens are wanted: the pieces of text need not pass through it too.
      const called = fold.apply(item).find(({ type }) => type === 'calls')
      if (called?.type === 'calls') return callOut(called.calls)
      if (item.type === 'message_finished') return content(addFinished(item.data))
      return item.type === 'run_finished' ? finishOrFail(resultOf(item)) : ''
    },
    isComplete: () => isComplete,
    close: () => (isComplete ? '' : fail(brokenOff())),
    fail: (error) => fail(error),
  }
}

/** On a live stream the session adds the run's result to its terminal event. */
function resultOf(event: Exclude<StreamItem, MessageDelta>): AgentResult | undefined {
  const result = event.data['result']
  const isResult = typeof result === 'object' && result !== null && 'state' in result
  return isResult ? (result as unknown as AgentResult) : undefined
}
