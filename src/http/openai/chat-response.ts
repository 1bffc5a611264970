import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Usage } from '#contracts/lease.ts'

/** What a chat completion and each of its chunks have in common. */
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

/** What a chat client shows. A run that was stopped before it said anything says why. */
export function contentOf({ state, result, error }: AgentResult): string {
  if (state !== 'stopped' || result !== '') return result
  return `(Stopped before an answer: ${error?.message ?? 'a limit was reached'} ${error?.code ?? ''})`
}

/** The error of a run that has no answer to give; `undefined` for one that has. */
export function faultOf(result: AgentResult): Error | undefined {
  switch (result.state) {
    case 'completed':
    case 'stopped':
      return undefined
    case 'cancelled':
      return new IsolaError('request_conflict', 'The run was cancelled before it had an answer.')
    case 'failed':
      // The code is a family's, or nobody's: then the caller is told nothing but the request id.
      return Object.assign(new Error(result.error?.message ?? 'The run failed.'), {
        code: result.error?.code,
      })
  }
}

export function toCompletion(head: CompletionHead, result: AgentResult) {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: contentOf(result), refusal: null },
        finish_reason: finishReasonOf(result),
        logprobs: null,
      },
    ],
    usage: toUsage(result.usage),
  }
}

export function toUsage(usage: Usage) {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}
