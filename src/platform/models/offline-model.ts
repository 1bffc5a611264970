import { headOf } from '#contracts/cut.ts'
import type { ModelReply, ModelRequest } from '#contracts/model.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import { outputCap, reservationFor, type TokenEstimator } from './estimate.ts'
import type { ModelBackend } from './model-backend.ts'
import { answerFor } from './offline/answer.ts'
import { planNext } from './offline/plan.ts'

export const offlineModelName = 'offline'

/**
 * The model of a clone without a key: deterministic, no network, works with whatever is installed.
 *
 * It reads steps out of the message, picks a tool for each by the agents' own search, fills arguments by schema from
 * what was said (never invents one), and answers from the results. It says what it is in every answer. It is no
 * judge of anything: for development and for tests only.
 */
export function createOfflineModel(options: {
  readonly buildIndex: BuildSearchIndex
  readonly tokens: TokenEstimator
}): ModelBackend {
  const { buildIndex, tokens } = options

  function decide(request: ModelRequest): Pick<ModelReply, 'text' | 'toolCalls' | 'finishReason'> {
    const plan = planNext(request, buildIndex)
    if (plan.next) {
      const id = `call_${plan.made.length + 1}_${plan.next.name}`
      return { text: '', toolCalls: [{ id, ...plan.next }], finishReason: 'tool_calls' }
    }
    const answer = answerFor(plan, request)
    const text = withinCap(answer, outputCap(request), tokens)
    return { text, toolCalls: [], finishReason: text === answer ? 'stop' : 'length' }
  }

  return {
    id: 'offline',
    estimate: (request) => reservationFor(tokens.ofRequest(request), request),
    priceOf: () => free,

    // Nothing here waits: one answer takes milliseconds, and a signal is looked at before it.
    async generate(request, { signal, onDelta, onSent, onBegun }) {
      onSent()
      signal.throwIfAborted()
      onBegun()
      const { text, toolCalls, finishReason } = decide(request)
      for (const word of text.match(/^\s+|\S+\s*/g) ?? []) onDelta(word)
      const inputTokens = tokens.ofRequest(request)
      const calls = toolCalls.length > 0 ? tokens.ofText(JSON.stringify(toolCalls)) : 0
      const outputTokens = tokens.ofText(text) + calls
      const usage = { inputTokens, outputTokens, costNanoUsd: 0, priced: true, estimated: false }
      return { text, toolCalls, finishReason, usage, provider: 'offline', model: offlineModelName }
    },
  }
}

const free = { inputUsdPerMillion: 0, outputUsdPerMillion: 0, source: 'built in' }

/** Cut so that it stays within what was reserved. */
function withinCap(text: string, cap: number, tokens: TokenEstimator): string {
  let cut = text
  while (cut !== '' && tokens.ofText(cut) > cap) cut = headOf(cut, cut.length * 0.8)
  return cut
}
