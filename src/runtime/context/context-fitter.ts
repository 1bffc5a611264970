import { defined } from '#contracts/defined.ts'
import { defaultContextSettings, type ContextBuilder, type ContextInput } from './types.ts'
import {
  type BuiltContext,
  type ContextFitter,
  type FittingTurn,
} from '#runtime/kernel/types/context.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { RunInput } from '#runtime/kernel/types/kernel.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import { labelOfAll } from '#contracts/message.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { PlannerState } from '#runtime/kernel/types/plan.ts'
import type { OutputStore } from '#runtime/kernel/types/policy.ts'
import type { AskProvider } from '#contracts/provider.ts'
import type { Sources } from '#contracts/sources.ts'

export interface ContextFitterParts {
  readonly builder: ContextBuilder
  readonly models: Pick<ModelProvider, 'contextOf'>
  /** Stores the messages that leave. */
  readonly outputs: Pick<OutputStore, 'keep'>
  readonly sha256: Sources['sha256']
  /** Asks the plugin that provides the context; absent where there are none. */
  readonly askProvider?: AskProvider
  /** Wraps the model call for a summary as every other model call is wrapped. Absent: no wrapping. */
  readonly aroundSummary?: (state: PlannerState) => PlannerState['generate']
}

/** Fits the transcript of a run into the window of its model. */
export function createContextFitter(parts: ContextFitterParts): ContextFitter {
  const { builder, models, outputs, sha256, askProvider, aroundSummary } = parts
  /** Stores a text under the hash of its content, so that a repetition after a crash writes the same row. */
  const keepIn =
    (of: Pick<RunInput, 'session' | 'rootSession'>, label: Label) => async (text: string) => {
      const at = { ...of, run: 'kept', call: sha256(text).slice(0, 22), label }
      const { handle } = await outputs.keep(at, text)
      return typeof handle === 'string' ? handle : undefined
    }
  return {
    fit(turn) {
      const { run, own, isDecided, agent, messages, tools, left, signal } = turn
      const { session, rootSession, compactions = [], isLeftOver } = run
      const force = turn.force ?? (run.options.compact && ('requested' as const))
      // A direct call asks no model.
      if (run.options.directCall) return undefined
      const model = models.contextOf?.({
        model: agent.model,
        messages,
        tools,
        parameters: agent.parameters,
        maxCostNanoUsd: left.maxCostNanoUsd,
      })
      if (!model) return undefined
      const input: ContextInput = {
        messages,
        // The agent's instructions come before them.
        taskAt: run.messages.length,
        tools,
        model,
        left,
        signal,
        ...defined({ force }),
        settings: agent.context ?? defaultContextSettings,
        records: [...compactions, ...own],
        isDecided: isDecided && !turn.force,
        isDecision: (message) => message.role === 'tool' && message.decided === true,
        ...defined({ isLeftOver }),
        ...(askProvider && {
          choose: (request: JsonObject) =>
            askProvider('context', { principal: run.principal, request }),
        }),
        // A handle is its session's: a client that goes on elsewhere could not open it.
        ...(run.options.compact !== 'client' && {
          keep: keepIn({ session, rootSession }, labelOfAll(messages)),
        }),
        async summarize({ messages, maxOutputTokens }) {
          const parameters = { maxOutputTokens }
          const request = { model: agent.model, messages, tools: [], parameters }
          // Texts added to the summary's request are not part of the texts that the run began with.
          const added = turn.added && { ...turn.added, note: () => {} }
          let label = ownLabel
          const read = (one: Label | undefined) => {
            label = joinLabels([label, one])
            turn.read?.(one)
          }
          const generate = aroundSummary?.({ ...turn, added, read }) ?? turn.generate
          const { text, usage } = await generate(request)
          const { inputTokens, outputTokens, costNanoUsd } = usage
          return { text, tokens: inputTokens + outputTokens, costNanoUsd, label }
        },
      }
      if (!builder.isNeeded(input)) return undefined
      const building = withWhatItCost(builder.build(input), turn.spent)
      return turn.force ? shorter(building) : building
    },
  }
}

/** Adds the cost, also if no summary was made. */
async function withWhatItCost(
  building: Promise<BuiltContext>,
  spent: FittingTurn['spent'],
): Promise<BuiltContext> {
  const before = spent()
  const built = await building
  if (!built.compaction) return built
  const { tokens, costNanoUsd } = spent()
  const report = {
    ...built.compaction.report,
    tokens: tokens - before.tokens,
    costNanoUsd: costNanoUsd - before.costNanoUsd,
  }
  return { ...built, compaction: { ...built.compaction, report } }
}

/** To send the same again would be refused again. */
async function shorter(building: Promise<BuiltContext>): Promise<BuiltContext> {
  const built = await building
  if (built.compaction) return built
  throw new IsolaError(
    'model_context_exceeded',
    'The model service says that the context is too long, and nothing more can leave it.',
  )
}
