import { describe, expect, it } from 'vitest'
import type { ContextInput } from '../../../src/runtime/context/types.ts'
import {
  answer,
  calls,
  contextBuilder,
  contextInput,
  prose,
  says,
  talkAfter,
  user,
} from '../../fakes/context.ts'
import { chooses, oldestFirst } from '../../fakes/chooser.ts'
import { createRandom } from '../../fakes/random.ts'

const random = createRandom(96)
const talk = talkAfter([], random)
const build = (choose: ContextInput['choose'], messages = talk) =>
  contextBuilder.build(contextInput(messages, { ...(choose && { choose }) }))

describe('P17: a plugin that provides the context', () => {
  it('says what leaves and what stands for it, with the label of a stranger', async () => {
    const { messages, compaction } = await build(oldestFirst)
    expect(compaction!.report).toMatchObject({
      stage: 'summary',
      by: 'provider',
      chosenBy: 'chooser',
    })
    expect(compaction!.report.notChosen).toBeUndefined()
    const summary = messages.find(
      (one) => one.role === 'user' && one.text.includes('What the plugin has to say of it.'),
    )
    expect(summary).toMatchObject({ label: { integrity: 'stranger' } })
    expect(messages[0]).toEqual(talk[0])
    expect(messages.at(-1)).toEqual(talk.at(-1))
  })

  it('may put answers of tools behind handles, and leave the rest', async () => {
    const read = Array.from({ length: 12 }, (_one, at) => [
      calls(`call_${at}`),
      answer(`call_${at}`, prose(random, 900)),
    ]).flat()
    const messages = [user('Read them.'), ...read, says('Done.'), user('Go on.')]
    const { compaction } = await build(
      chooses(({ steps }) => ({
        stub: steps
          .filter(({ pinned }) => pinned === undefined)
          .slice(0, 8)
          .flatMap(({ messages: own }) => own.slice(1).map(({ at }) => at)),
      })),
      messages,
    )
    expect(compaction!.report).toMatchObject({ stage: 'results', chosenBy: 'chooser' })
    expect(compaction!.report.left).toMatchObject({ results: 8, messages: 0 })
  })

  it.each([
    ['what is pinned', chooses(({ steps }) => ({ summarize: [steps.at(-1)!.step] })), /is pinned/],
    ['what is not there', chooses({ summarize: [999] }), /no step 999/],
    ['an answer that is none', chooses({ stub: [1] }), /message 1 is no answer/],
    ['what is no choice', chooses({ summarize: 'all' }), /^summarize: /],
    ['nothing', chooses({}), /too much|frees nothing/],
    ['too little', chooses(({ steps }) => ({ summarize: [steps[2]!.step] })), /too much/],
    [
      'by failing',
      async () => {
        throw new Error('It failed.')
      },
      /It failed\./,
    ],
  ])('a provider that chooses %s is ignored; the report says why', async (_what, choose, why) => {
    const without = await build(undefined)
    const { messages, compaction } = await build(choose)
    expect(messages).toEqual(without.messages)
    expect(compaction!.report.notChosen).toMatch(why)
    expect(compaction!.report.by).toBe(without.compaction!.report.by)
  })

  it.each([
    ['nothing', chooses({}), /frees nothing/],
    ['one old step', chooses(({ steps }) => ({ summarize: [steps[2]!.step] })), /too much/],
  ])(
    'a provider that chooses %s does not count where the service refused the context: it would be refused again',
    async (_what, choose, why) => {
      const short = talk.slice(0, 40)
      const force = 'context_error' as const
      const without = await contextBuilder.build(contextInput(short, { force }))
      const built = await contextBuilder.build(contextInput(short, { force, choose }))
      expect(built.messages).toEqual(without.messages)
      expect(built.compaction!.report.notChosen).toMatch(why)
    },
  )

  it('is not asked where all fits', async () => {
    let asked = 0
    const short = talk.slice(0, 4)
    const built = await build(async () => ((asked += 1), undefined), [...short, user('Go on.')])
    expect([asked, built.compaction]).toEqual([0, undefined])
  })
})
