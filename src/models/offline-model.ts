import type { ModelReply, ModelRequest, ToolDefinition } from '#contracts/model.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import { outputCap, reservationFor, type TokenEstimator } from './estimate.ts'
import type { ModelBackend } from './model-backend.ts'
import { answerFor } from './offline/answer.ts'
import { forcedCall } from './offline/forced-call.ts'
import { planNext } from './offline/plan.ts'
import { callName, findName, readRun } from './offline/run-so-far.ts'
import { createToolChooser, type ToolChooser } from './offline/tool-choice.ts'

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

  // A session sends the same list of tools with every turn.
  const choosers = new WeakMap<readonly ToolDefinition[], ToolChooser>()

  function chooserFor(tools: readonly ToolDefinition[]): ToolChooser {
    const known = choosers.get(tools)
    if (known) return known
    const made = createToolChooser(
      tools.filter(({ name }) => name !== findName && name !== callName),
      buildIndex,
    )
    choosers.set(tools, made)
    return made
  }

  function decide(request: ModelRequest): Pick<ModelReply, 'text' | 'toolCalls' | 'finishReason'> {
    const run = readRun(request.messages)
    const { toolChoice = 'auto' } = request.parameters
    const planned =
      toolChoice === 'none' ? { calls: [], notes: [] } : planNext(run, request.tools, chooserFor)
    const forced = forcedCall({ run, tools: request.tools, toolChoice, planned, chooserFor })
    const { calls, notes } = forced ? { ...planned, calls: [forced] } : planned
    if (calls.length > 0) {
      const before = run.calls.length
      const toolCalls = calls.map(({ name, input }, index) => ({
        id: `call_${before + index + 1}`,
        name,
        input,
      }))
      return { text: '', toolCalls, finishReason: 'tool_calls' }
    }
    const answer = answerFor(run, request, notes)
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
      for (const word of text.match(/\s*\S+\s*/g) ?? []) onDelta(word)
      const outputTokens =
        tokens.ofText(text) + (toolCalls.length > 0 ? tokens.ofText(JSON.stringify(toolCalls)) : 0)
      const usage = {
        inputTokens: tokens.ofRequest(request),
        outputTokens,
        costNanoUsd: 0,
        priced: true,
        estimated: false,
      }
      return { text, toolCalls, finishReason, usage, provider: 'offline', model: offlineModelName }
    },
  }
}

const free = { inputUsdPerMillion: 0, outputUsdPerMillion: 0, source: 'built in' }

/** Cut so that it stays within what was reserved. */
function withinCap(text: string, cap: number, tokens: TokenEstimator): string {
  let cut = text
  while (cut !== '' && tokens.ofText(cut) > cap) cut = cut.slice(0, Math.floor(cut.length * 0.8))
  return cut
}
