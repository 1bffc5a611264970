import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import { betweenTurns, type Change, type ClientCall, contentOf, type TokenCount } from './fold.ts'
import { type RunPlace, toCallId } from './wire-ids.ts'

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
export const howToGoOn = ({ session, run }: RunPlace, { code, call }: Waiting): string =>
  code === 'loop_suspected'
    ? `Let it go on with POST /api/sessions/${session}/runs/${run}/decisions {"call":"${call}","decision":"approve"} or \`isola approval approve ${session} ${call}\`; "deny" ends it.`
    : `Raise it with POST /api/sessions/${session}/runs/${run}/limits or \`isola run raise ${session} ${run}\`: it goes on then.`

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
export const waitingNote = (waiting: Waiting, place: RunPlace): string =>
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
export const toToolCalls = (place: RunPlace, calls: readonly ClientCall[]) =>
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
