import type { ContextInput } from '../../src/runtime/context/types.ts'
import type { Json } from '#contracts/json.ts'

type Choose = NonNullable<ContextInput['choose']>
interface Asked {
  readonly tokens: number
  readonly targetTokens: number
  readonly steps: readonly {
    readonly step: number
    readonly pinned?: string
    readonly messages: readonly { readonly at: number; readonly tokens: number }[]
  }[]
}

/** A plugin that provides the context and answers this, whatever it is asked. */
export const chooses =
  (answer: Json | ((asked: Asked) => Json)): Choose =>
  async (asked) => ({
    from: 'chooser',
    isBelieved: false,
    answer: typeof answer === 'function' ? answer(asked as unknown as Asked) : answer,
  })

/** The oldest that is not pinned leaves, until it is enough. */
export const oldestFirst: Choose = chooses(({ steps, tokens, targetTokens }) => {
  let left = tokens
  const summarize: number[] = []
  for (const { step, pinned, messages } of steps) {
    if (left <= targetTokens * 0.7) break
    if (pinned !== undefined) continue
    left -= messages.reduce((sum, one) => sum + one.tokens, 0)
    summarize.push(step)
  }
  return { summarize, summary: 'What the plugin has to say of it.' }
})
