import { defined } from '#contracts/defined.ts'
import { defaultContextSettings, type ContextBuilder, type ContextInput } from './types.ts'
import { type TokenCounter } from '#contracts/context.ts'
import {
  type ContextReader,
  type ReadContext,
  contextPartKinds,
  type ContextPartView,
  type ContextView,
} from '#runtime/kernel/types/context.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelProvider } from '#contracts/model.ts'
import { inputCostOf, outputCostOf, perRequest, toSizes } from './sizes.ts'
import { createView, newestOf, type Entry } from './view.ts'

export interface ContextReaderParts {
  readonly builder: ContextBuilder
  readonly count: TokenCounter
  readonly models: Pick<ModelProvider, 'contextOf'>
}

type Kind = ContextPartView['kind']

/** Shows the contents of a window, with the builder's own counts and rules. */
export function createContextReader({ builder, count, models }: ContextReaderParts): ContextReader {
  const toView = createView()
  const entriesOf = (messages: readonly Message[], of: Pick<ReadContext, 'compactions'>) =>
    toView(messages, newestOf(messages, of.compactions))
  return {
    view: (of) => viewOf(of, { count, models, entriesOf }),
    shown(of) {
      const messages = withInstructions('', of.messages)
      return entriesOf(messages, of).flatMap(({ message }) =>
        message === messages[0] ? [] : [message],
      )
    },
    async isWorthwhile(of) {
      const input = inputOf(of, models)
      if (!input) return false
      const { compaction } = await builder.build({
        ...input,
        force: 'requested',
        isDecision: (message) => message.role === 'tool' && message.decided === true,
        // A stand-in handle: a view writes nothing.
        keep: async () => 'ses_'.padEnd(96, '0'),
      })
      return compaction !== undefined
    },
  }
}

const withInstructions = (text: string, messages: readonly Message[]): readonly Message[] => [
  { role: 'system', text },
  ...messages,
]

/** The input of the next call, before the next message; `undefined` if no model would answer it. */
function inputOf(
  { agent: { spec, toolset }, messages, compactions, isLeftOver }: ReadContext,
  models: ContextReaderParts['models'],
): Omit<ContextInput, 'keep'> | undefined {
  const tools = toolset.definitions
  const all = withInstructions(spec.instructions, messages)
  const { model, parameters, limits } = spec
  const { maxCostNanoUsd, maxTokens } = limits
  const answering = models.contextOf?.({ model, messages: all, tools, parameters, maxCostNanoUsd })
  return (
    answering && {
      messages: all,
      tools,
      model: answering,
      left: { maxTokens, maxCostNanoUsd },
      settings: spec.context ?? defaultContextSettings,
      records: compactions,
      ...defined({ isLeftOver }),
      signal: new AbortController().signal,
    }
  )
}

interface ViewDeps extends Pick<ContextReaderParts, 'count' | 'models'> {
  readonly entriesOf: (
    messages: readonly Message[],
    of: Pick<ReadContext, 'compactions'>,
  ) => readonly Entry[]
}

function viewOf(of: ReadContext, { count, models, entriesOf }: ViewDeps): ContextView {
  const { spec, toolset } = of.agent
  const entries = entriesOf(withInstructions(spec.instructions, of.messages), of)
  const sums = new Map<Kind, { tokens: number; count: number }>()
  const add = (kind: Kind, tokens: number, more = 1) => {
    const sum = sums.get(kind) ?? { tokens: 0, count: 0 }
    sums.set(kind, { tokens: sum.tokens + tokens, count: sum.count + more })
  }
  for (const entry of entries) add(kindOf(entry), count.ofMessage(entry.message))
  for (const { text } of of.added ?? []) add('added_by_plugins', count.ofText(text))
  const tools = toolset.definitions
  if (tools.length > 0) add('tools', count.ofTools(tools), tools.length)
  const parts = contextPartKinds.flatMap((kind) => {
    const sum = sums.get(kind)
    return sum ? [{ kind, ...sum }] : []
  })
  const tokens = parts.reduce((sum, part) => sum + part.tokens, perRequest)
  const said = of.messages.filter(({ role }) => role !== 'system').length
  const base = { agent: spec.id, tokens, parts, saidMessages: said }
  const input = inputOf(of, models)
  if (!input) return base
  const { model } = input
  const { window, start } = toSizes(input, tokens)
  const { price, maxOutputTokens } = model
  const cost = price && inputCostOf(price, tokens)
  return {
    ...base,
    model: model.name,
    maxOutputTokens,
    ...(Number.isFinite(window) && {
      windowTokens: window,
      startTokens: Math.floor(start),
      targetTokens: Math.floor(input.settings.target * window),
    }),
    ...(price &&
      cost !== undefined && {
        costUsd: {
          input: cost / 1e9,
          atMost: (cost + outputCostOf(price, tokens, maxOutputTokens)) / 1e9,
        },
      }),
  }
}

function kindOf({ at, message, isReplaced }: Entry): Kind {
  switch (message.role) {
    case 'system':
      return 'instructions'
    case 'user':
      return at === undefined ? 'summary' : 'user_messages'
    case 'assistant':
      return 'assistant_messages'
    case 'tool':
      return isReplaced ? 'cleared_results' : 'tool_results'
  }
}
