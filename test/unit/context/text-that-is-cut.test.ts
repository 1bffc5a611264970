import { describe, expect, it } from 'vitest'
import type { ContextInput } from '../../../src/runtime/context/types.ts'
import type { Message } from '#contracts/message.ts'
import { fromContent, toContent } from '../../../src/surfaces/openai/responses/compaction-item.ts'
import {
  answer,
  calls,
  contextBuilder,
  contextInput,
  prose,
  says,
  system,
  talkAfter as talk,
  user,
} from '../../fakes/context.ts'
import { createRandom } from '../../fakes/random.ts'

const random = createRandom(61)
const long = (tokens: number) => prose(random, tokens)
const talkAfter = (first: readonly Message[]) => talk(first, random)

const build = (messages: readonly Message[], more: Partial<ContextInput> = {}) =>
  contextBuilder.build(contextInput(messages, more))

describe('text that is cut', () => {
  const smiles = (count: number) => '😀'.repeat(count)
  const isWhole = (messages: readonly Message[]) =>
    !/\\ud[89a-f]/.test(JSON.stringify(messages)) && JSON.stringify(messages).length > 0

  it.each([0, 1])('is never cut inside a character (%i before it)', async (before) => {
    const odd = 'x'.repeat(before)
    const results = Array.from({ length: 12 }, (_, index) => [
      calls(`c${index}`, 'files__read', { path: `/srv/${index}` }),
      answer(`c${index}`, `${odd}${smiles(500)}${long(900)}`),
    ]).flat()
    const cleared = await build([
      system('You are careful.'),
      user('Read.'),
      ...results,
      says('So.'),
      user('Go on.'),
    ])
    expect(cleared.compaction?.report.stage).toBe('results')
    expect(isWhole(cleared.messages)).toBe(true)

    const said = [
      says(`${odd}${smiles(900)}`),
      user(`${odd}${smiles(900)}`),
      calls('a', 'crm__find', { name: `${odd}${smiles(200)}` }),
      answer('a', `${odd}${smiles(59)}`),
    ]
    const summed = await build(talkAfter(said))
    expect(summed.compaction?.report.stage).toBe('summary')
    expect(isWhole(summed.messages)).toBe(true)

    const goal = [user(`${odd}${smiles(30_000)}`), ...talkAfter([]).slice(2)]
    const shortened = await build([system('You are careful.'), ...goal])
    expect(shortened.compaction?.report.unpinned).toContain('goal')
    expect(isWhole(shortened.messages)).toBe(true)
  })

  it('is whole in the words of a model too', async () => {
    const asked: Message[] = []
    const built = await build(talkAfter([user(`x${smiles(4_000)}`)]), {
      summarize: async ({ messages }) => {
        asked.push(...messages)
        return { text: `x${smiles(6_000)}`, tokens: 1, costNanoUsd: 1 }
      },
    })
    expect(isWhole(asked)).toBe(true)
    expect(isWhole(built.messages)).toBe(true)
  })

  it('can be sent back by a client that keeps it', async () => {
    const said = [says(`x${smiles(900)}`), user(`${smiles(900)}`)]
    const { keep: _none, ...input } = contextInput(talkAfter(said))
    const { messages } = await contextBuilder.build({ ...input, force: 'requested' })
    expect(fromContent(toContent(messages), 'input[0]')).toHaveLength(messages.length - 1)
  })
})
