import { IsolaError, type ErrorOptionsFor, type ModelErrorCode } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ModelProvider, ModelReply, ModelRequest, ModelUsage } from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import { outputCap } from './estimate.ts'

/** One reply of the script, or one failure. */
export interface ScriptedReply {
  readonly text?: string
  /** Ids left out are `call_<n>`. */
  readonly toolCalls?: readonly {
    readonly id?: string
    readonly name: string
    readonly input?: JsonObject
  }[]
  readonly finishReason?: ModelReply['finishReason']
  /** Default: a quarter of the characters, rounded up, at no cost. */
  readonly usage?: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly costNanoUsd?: number
  }
  /** The text in pieces; default one. */
  readonly deltas?: readonly string[]
  /** Between the request and its first delta, in milliseconds. Needs `sleep`. */
  readonly delayMs?: number
  /** Fails with this instead, after the deltas; without any, a refusal is one before a reply had begun. */
  readonly failure?: ErrorOptionsFor & { readonly code: ModelErrorCode; readonly message?: string }
}

export type Script =
  | readonly ScriptedReply[]
  | ((request: ModelRequest, index: number) => ScriptedReply)

export interface ScriptedModel extends ModelProvider {
  /** Every request so far, oldest first. */
  readonly requests: readonly ModelRequest[]
}

/**
 * A model that follows a script, for tests and for hosts that want no model at all (I19).
 *
 * Counts exactly, so that a lease's bound is exact too. A script that has run out fails with `model_invalid_reply`.
 */
export function createScriptedModel(
  script: Script,
  options: { readonly sleep?: Clock['sleep'] } = {},
): ScriptedModel {
  const requests: ModelRequest[] = []

  function nextReply(request: ModelRequest): ScriptedReply {
    const index = requests.push(request) - 1
    const reply = typeof script === 'function' ? script(request, index) : script[index]
    if (reply) return reply
    throw new IsolaError('model_invalid_reply', `The script has no reply for request ${index + 1}.`)
  }

  return {
    id: 'scripted',
    requests,
    select: (model) => ({ provider: 'scripted', model: model ?? 'script', substituted: false }),
    estimate: (request) => ({
      tokens: Math.ceil(inputTokensOf(request) * 1.25) + outputCap(request),
      costNanoUsd: 0,
    }),

    async generate(request, { signal, onDelta, onSent, onBegun }) {
      onSent()
      signal.throwIfAborted()
      const reply = nextReply(request)
      if (reply.delayMs !== undefined) await options.sleep?.(reply.delayMs, signal)
      signal.throwIfAborted()
      const text = reply.text ?? reply.deltas?.join('') ?? ''
      // Like a service that refuses: a failure before any text costs nothing.
      if (text !== '' || !reply.failure) onBegun()
      for (const delta of reply.deltas ?? (text === '' ? [] : [text])) onDelta(delta)
      if (reply.failure) {
        const { code, message = 'A scripted failure.', ...rest } = reply.failure
        throw new IsolaError(code, message, rest)
      }
      const toolCalls = (reply.toolCalls ?? []).map(({ id, name, input }, index) => ({
        id: id ?? `call_${index + 1}`,
        name,
        input: input ?? {},
      }))
      return {
        text,
        toolCalls,
        finishReason: reply.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
        usage: usageOf(
          reply,
          request,
          text + (toolCalls.length > 0 ? JSON.stringify(toolCalls) : ''),
        ),
        provider: 'scripted',
        model: request.model ?? 'script',
      }
    },
  }
}

function usageOf({ usage }: ScriptedReply, request: ModelRequest, output: string): ModelUsage {
  return {
    inputTokens: usage?.inputTokens ?? inputTokensOf(request),
    outputTokens: usage?.outputTokens ?? Math.ceil(output.length / 4),
    costNanoUsd: usage?.costNanoUsd ?? 0,
    priced: true,
    estimated: false,
  }
}

const inputTokensOf = ({ messages, tools }: ModelRequest): number =>
  Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)
