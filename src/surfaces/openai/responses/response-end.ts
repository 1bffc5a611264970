import { defined } from '#contracts/defined.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import { faultOf } from '../chat-response.ts'
import type { TokenCount } from '../fold.ts'
import type { ResponseBody } from './resource.ts'

/** The last event of a response, and how the response stands with it. */
export interface ResponseEnd {
  readonly type: 'response.completed' | 'response.incomplete' | 'response.failed'
  readonly body: ResponseBody
}

/** The end of a response that came to one: its run completed, or the client has calls to make. */
export const completed = (atMs: number, tokens: TokenCount): ResponseEnd => ({
  type: 'response.completed',
  body: { status: 'completed', completedAtMs: atMs, tokens },
})

/** The end of a response that could not be completed, and why. */
export const incomplete = (
  tokens: TokenCount,
  { code, message }: { readonly code: string; readonly message?: string },
): ResponseEnd => ({
  type: 'response.incomplete',
  body: {
    status: 'incomplete',
    incompleteReason: code,
    ...defined({ incompleteMessage: message }),
    tokens,
  },
})

/** How a run's result ends its response; `run` goes into what is said of a fault. */
export function toResponseEnd(
  result: AgentResult,
  {
    run,
    atMs,
    tokens,
  }: { readonly run: string; readonly atMs: number; readonly tokens: TokenCount },
): ResponseEnd {
  switch (result.state) {
    case 'failed': {
      const { code, message } = toOutgoingError(faultOf(result), run).body.error
      return {
        type: 'response.failed',
        body: { status: 'failed', error: { code, message }, tokens },
      }
    }
    case 'cancelled':
      return { type: 'response.incomplete', body: { status: 'cancelled', tokens } }
    case 'stopped':
      return incomplete(tokens, result.error ?? { code: 'max_output_tokens' })
    case 'completed': {
      const { finishReason } = result
      if (finishReason === undefined) return completed(atMs, tokens)
      const code = finishReason === 'length' ? 'max_output_tokens' : finishReason
      return incomplete(tokens, { code })
    }
  }
}
