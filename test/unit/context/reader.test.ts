import { describe, expect, it } from 'vitest'
import type { ReadContext } from '#runtime/kernel/types/context.ts'
import type { Message } from '#contracts/message.ts'
import type { ContextModel } from '#contracts/model.ts'
import { createContextReader } from '../../../src/runtime/context/context-reader.ts'
import {
  answer,
  calls,
  contextBuilder,
  contextInput,
  prose,
  says,
  talkAfter,
  tokenCounter,
  user,
} from '../../fakes/context.ts'
import { agentSpec, says as result, toolEntry, toolsetOf } from '../../fakes/kernel.ts'
import { createRandom } from '../../fakes/random.ts'

const price = { inputUsdPerMillion: 1, outputUsdPerMillion: 2 }
const model: ContextModel = { name: 'big', contextTokens: 16_000, maxOutputTokens: 4_000, price }
const readerOf = (answering: ContextModel = model) =>
  createContextReader({
    builder: contextBuilder,
    count: tokenCounter,
    models: { contextOf: () => answering },
  })

const toolset = toolsetOf(['a', 'b'].map((name) => toolEntry(name, async () => result('ok'))))
const sessionOf = (messages: readonly Message[], more: Partial<ReadContext> = {}): ReadContext => ({
  agent: { spec: agentSpec(), toolset },
  messages,
  compactions: [],
  ...more,
})

/** The messages after the agent's instructions, and the record of their compaction. */
async function compacted() {
  const [, ...messages] = talkAfter([calls('c'), answer('c', 'found')], createRandom(5))
  const { spec } = sessionOf([]).agent
  const instructions: Message = { role: 'system', text: spec.instructions }
  const { compaction } = await contextBuilder.build(contextInput([instructions, ...messages]))
  if (!compaction) throw new Error('nothing was compacted')
  return { messages, compaction }
}

describe('what fills a window', () => {
  const messages = [
    user('Hello.'),
    calls('c'),
    answer('c', 'found'),
    says('Done.'),
    user('Thanks.'),
  ]

  it('is told by kind, with how many there are of each, and adds up', () => {
    const added = [{ plugin: 'p', text: 'Be brief.' }]
    const view = readerOf().view(sessionOf(messages, { added }))
    expect(view.parts.map(({ kind, count }) => [kind, count])).toEqual([
      ['instructions', 1],
      ['added_by_plugins', 1],
      ['tools', 2],
      ['user_messages', 2],
      ['assistant_messages', 2],
      ['tool_results', 1],
    ])
    const sum = view.parts.reduce((all, { tokens }) => all + tokens, 0)
    // What chat formats add.
    expect(view.tokens).toBe(sum + 4)
    expect(view.saidMessages).toBe(5)
    const both = tokenCounter.ofMessage(messages[0]!) + tokenCounter.ofMessage(messages[4]!)
    expect(view.parts.find(({ kind }) => kind === 'user_messages')?.tokens).toBe(both)
  })

  it('is held against the window and the price of the model that would answer', () => {
    const view = readerOf().view(sessionOf(messages))
    expect(view).toMatchObject({
      model: 'big',
      windowTokens: 12_000,
      maxOutputTokens: 4_000,
      startTokens: 9_600,
      targetTokens: 6_000,
    })
    expect(view.costUsd?.input).toBeCloseTo(view.tokens / 1e6, 9)
    expect(view.costUsd?.atMost).toBeCloseTo((view.tokens + 2 * 4_000) / 1e6, 9)
  })

  it('has no window, price or model where none is known', () => {
    const { contextTokens: _window, price: _price, ...unknown } = model
    const view = readerOf(unknown).view(sessionOf(messages))
    expect(view).toMatchObject({ model: 'big', maxOutputTokens: 4_000 })
    for (const name of ['windowTokens', 'startTokens', 'targetTokens', 'costUsd'])
      expect(view).not.toHaveProperty(name)
    const models = { contextOf: () => undefined }
    const none = createContextReader({ builder: contextBuilder, count: tokenCounter, models })
    expect(none.view(sessionOf(messages))).not.toHaveProperty('model')
  })

  it('is a summary in place of what has left', async () => {
    const { messages: all, compaction } = await compacted()
    const view = readerOf().view(sessionOf(all, { compactions: [compaction] }))
    expect(view.parts.map(({ kind }) => kind)).toContain('summary')
    expect(view.tokens).toBeLessThan(readerOf().view(sessionOf(all)).tokens / 1.5)
    expect(view.saidMessages).toBe(all.length)
  })
})

describe('the view of a conversation’s context', () => {
  it('is what is sent of it, without the instructions of the agent', async () => {
    const { messages, compaction } = await compacted()
    const { shown } = readerOf()
    expect(shown({ messages, compactions: [] })).toEqual(messages)
    const sent = shown({ messages, compactions: [compaction] })
    expect(sent.length).toBeLessThan(messages.length)
    expect(sent.filter(({ role }) => role === 'system')).toEqual([])
    expect(sent.at(-1)).toBe(messages.at(-1))
  })
})

describe('whether a compaction is worth asking for', () => {
  it('is said without a model call: yes where messages would leave', async () => {
    const { messages } = await compacted()
    expect(await readerOf().isWorthwhile(sessionOf(messages))).toBe(true)
  })

  it('is no where little was said, and where no model would answer', async () => {
    const { messages } = await compacted()
    expect(await readerOf().isWorthwhile(sessionOf([user('Hello.')]))).toBe(false)
    const models = { contextOf: () => undefined }
    const none = createContextReader({ builder: contextBuilder, count: tokenCounter, models })
    expect(await none.isWorthwhile(sessionOf(messages))).toBe(false)
  })

  it('is no where all of it is one message that stays', async () => {
    const message = user(prose(createRandom(2), 2_000))
    expect(await readerOf().isWorthwhile(sessionOf([message]))).toBe(false)
  })
})
