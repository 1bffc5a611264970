import type { AgentResult } from '#contracts/agent.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import { brokenOff, type StreamView } from '#platform/routes/event-stream.ts'
import { betweenTurns, type Change, type ClientCall, createFold, type TokenCount } from './fold.ts'
import {
  type CompletionHead,
  faultOf,
  finishReasonOf,
  noteOf,
  toToolCalls,
  toUsage,
  waitingNote,
} from './chat-response.ts'
import type { PlaceInSession } from './wire-ids.ts'

/** The run to show as chunks, and whether its tokens follow at the end. */
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
