import type { Compaction } from '#contracts/context.ts'
import type { ContextFitter } from '#runtime/kernel/types/context.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { Sources } from '#contracts/sources.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import {
  createOutputStore,
  createOutputTool,
  readOutputName,
  type OutputSpaces,
} from '#runtime/catalog/output-tool.ts'
import { createContextBuilder } from '#runtime/context/context-builder.ts'
import { createContextFitter } from '#runtime/context/context-fitter.ts'
import { createTokenEstimator } from '#platform/models/estimate.ts'

/** A conversation in memory: its messages, and the outputs that a handle stands for. */
export interface EmbeddedConversation {
  readonly messages: Message[]
  readonly compactions: Compaction[]
  readonly isLeftOver: (message: Message) => boolean
  /** Adds the turns of a run. */
  readonly add: (turns: readonly TurnRecord[]) => void
  /** Fits it into a model that says how much it takes. */
  readonly fit: (models: ModelProvider) => Fitted
}

interface Fitted {
  readonly context?: ContextFitter
  /** Opens handles; nothing to open where nothing is compacted. */
  readonly tools: readonly ToolEntry[]
}

/** The conversation of an embedded agent; it lasts as long as its host keeps it. */
export function createConversation({ sha256 }: Pick<Sources, 'sha256'>): EmbeddedConversation {
  const messages: Message[] = []
  const compactions: Compaction[] = []
  const failed = new WeakSet<Message>()
  const spaces = createSpaces()
  const count = createTokenEstimator()
  return {
    messages,
    compactions,
    isLeftOver: (message) => failed.has(message),
    add(turns) {
      const said = turns.flatMap((turn) => toTurnSaid(turn).messages)
      if (turns.at(-1)?.final?.state === 'failed') for (const one of said) failed.add(one)
      messages.push(...said)
      compactions.push(...turns.flatMap(({ compactions: made = [] }) => made))
      // The newest is applied; where it does not fit, the one before it.
      compactions.splice(0, compactions.length - 2)
    },
    fit(models) {
      if (!models.contextOf) return { tools: [] }
      const builder = createContextBuilder({ count, readTool: readOutputName })
      const outputs = createOutputStore(spaces)
      const context = createContextFitter({ builder, models, outputs, sha256 })
      return { context, tools: [createOutputTool(spaces)] }
    },
  }
}

/** Texts by their handle. */
function createSpaces(): OutputSpaces {
  const texts = new Map<string, string>()
  return {
    at: () => ({
      async storage(asked) {
        if (asked.verb === 'set') texts.set(asked.key, String(asked.value))
        const value = asked.verb === 'get' ? texts.get(asked.key) : undefined
        return value === undefined ? {} : { value }
      },
    }),
  }
}
