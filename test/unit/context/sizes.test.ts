import { describe, expect, it } from 'vitest'
import { contextSettingsSchema } from '#contracts/context.ts'
import { type ContextInput } from '../../../src/runtime/context/types.ts'
import { unlimited } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelPrice } from '#contracts/model.ts'
import { reservationFor } from '../../../src/platform/models/estimate.ts'
import { contextBuilder, contextInput, prose, says, system, user } from '../../fakes/context.ts'
import { createRandom } from '../../fakes/random.ts'

describe('the shares of an agent', () => {
  it.each([
    [0.9, 0.8],
    [0.8, 0.7],
    [0.7, 0.6],
    [0.6, 0.5],
    [0.5, 0.4],
    [0.3, 0.2],
  ])('may be a tenth apart: from %d to %d', (start, target) => {
    expect(contextSettingsSchema.safeParse({ start, target }).success).toBe(true)
  })

  it('may not be nearer to each other', () => {
    const { error } = contextSettingsSchema.safeParse({ start: 0.5, target: 0.41 })
    expect(error?.issues[0]?.message).toBe('target must be at least 0.1 below start')
  })
})

describe('a conversation that leaves at once what fills many texts', () => {
  it('C6: meets the target with all of their handles', async () => {
    const messages: Message[] = [system('You are careful.'), user('Plan the move.')]
    for (let index = 0; index < 12; index += 1)
      messages.push(says(`${index} ${'lorem ipsum '.repeat(17_000)}`))
    for (let index = 0; index < 30; index += 1)
      messages.push(user(`${index} ${'Go on with it. '.repeat(5)}`), says(`${index} Done so far.`))
    messages.push(user('Go on. '.repeat(100)))
    const model = { name: 'small', contextTokens: 3_400, maxOutputTokens: 1_000 }
    const { compaction } = await contextBuilder.build(contextInput(messages, { model }))
    expect(compaction?.archives.length).toBeGreaterThan(6)
    expect(compaction?.report.tokensAfter).toBeLessThanOrEqual(compaction!.report.targetTokens)
  })
})

describe('what a run can pay where long inputs are dearer', () => {
  const random = createRandom(7)
  const messages: readonly Message[] = [
    system('You are careful.'),
    user('Plan the move.'),
    ...Array.from({ length: 40 }, (_, index) => [
      says(`${prose(random, 300)} ${index}`),
      user(`${prose(random, 300)} ${index}`),
    ]).flat(),
  ]
  const price: ModelPrice = {
    inputUsdPerMillion: 1,
    outputUsdPerMillion: 2,
    above: [{ inputTokens: 20_000, inputUsdPerMillion: 4, outputUsdPerMillion: 8 }],
  }
  const model = { name: 'big', contextTokens: 200_000, maxOutputTokens: 1_000, price }
  const parameters = { maxOutputTokens: 1_000 }
  const request = { model: undefined, messages: [], tools: [], parameters }
  const costOf = (tokens: number) => reservationFor(tokens, request, price).costNanoUsd

  it('is counted by the price for their length', async () => {
    // As much as the call would take at the price of short inputs, and not at its own.
    const { tokens } = await contextBuilder.build(contextInput(messages, { model }))
    const maxCostNanoUsd = Math.ceil(tokens * 1.25) * 1_000 + 1_000 * 2_000
    expect(costOf(tokens)).toBeGreaterThan(maxCostNanoUsd)
    const left = { maxTokens: unlimited, maxCostNanoUsd }
    const built = await contextBuilder.build(contextInput(messages, { model, left }))
    expect(built.compaction?.report.reason).toBe('budget')
    expect(costOf(built.tokens)).toBeLessThanOrEqual(maxCostNanoUsd)
  })

  it('does not matter where nothing is limited: what a model refused is too long for its summary', async () => {
    const { price: _price, contextTokens: _window, ...unknown } = model
    const force = 'context_error'
    const of = async (answering: ContextInput['model']) =>
      (await contextBuilder.build(contextInput(messages, { model: answering, force }))).compaction
        ?.report
    const free = await of(unknown)
    expect(free?.roomTokens).toBe(free?.tokensBefore)
    expect((await of({ ...unknown, price }))?.roomTokens).toBe(free?.roomTokens)
  })

  it('is all that it can pay, on both sides of the threshold', async () => {
    const { tokens } = await contextBuilder.build(contextInput(messages, { model }))
    const left = { maxTokens: unlimited, maxCostNanoUsd: costOf(tokens) }
    const built = await contextBuilder.build(contextInput(messages, { model, left }))
    expect(built.compaction).toBeUndefined()
  })
})
