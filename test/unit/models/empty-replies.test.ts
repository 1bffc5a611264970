import { describe, expect, it } from 'vitest'
import { createWorld, ofType, runOn } from './upstreams.ts'

const nothing = { content: null } as const
const both = { defaultModel: 'first/a, second/b' }

describe('F13: a reply with neither text nor a call', () => {
  it('is asked for again, each try paid for and on the record', async () => {
    const world = createWorld({ first: [nothing, { text: 'there' }] }, { defaultModel: 'first/a' })
    const { result, events } = await runOn(world)
    expect(result).toMatchObject({ state: 'completed', result: 'there' })
    const [failed] = ofType(events, 'model_failed')
    expect(failed).toMatchObject({ code: 'model_empty_reply' })
    expect(Number(failed?.['bookedTokens'])).toBeGreaterThan(0)
  })

  it('is followed by the next model', async () => {
    const world = createWorld({ first: [nothing], second: [{ text: 'from the second' }] }, both)
    const { result, events } = await runOn(world)
    expect(result.result).toBe('from the second')
    expect(ofType(events, 'model_substituted')).toMatchObject([
      { passedOver: [{ provider: 'first', reason: 'model_empty_reply' }] },
    ])
  })

  it('fails the run when it is all that comes', async () => {
    const world = createWorld({ first: [nothing] }, { defaultModel: 'first/a' })
    const { result } = await runOn(world)
    expect(result).toMatchObject({ state: 'failed', error: { code: 'model_empty_reply' } })
    expect(world.asked).toHaveLength(3)
  })

  it('is the same in one piece', async () => {
    const world = createWorld({ first: [nothing] }, { defaultModel: 'first/a' })
    const { result } = await runOn(world, { isUnwatched: true })
    expect(result.error?.code).toBe('model_empty_reply')
  })

  it.each(['stop', 'tool_calls', 'end_turn'])('whatever reason it gives (%s)', async (finish) => {
    const world = createWorld({ first: [{ content: null, finish }] }, { defaultModel: 'first/a' })
    expect((await runOn(world)).result.error?.code).toBe('model_empty_reply')
  })
})

describe('a reply without words that is one', () => {
  it.each([
    ['an empty text', { content: '' }, ''],
    ['a refusal', { content: null, refusal: 'I cannot.' }, 'I cannot.'],
    ['one whose cap went into thinking', { content: null, finish: 'length' }, ''],
    ['one that was held back', { content: null, finish: 'content_filter' }, ''],
  ])('is %s', async (_what, answer, text) => {
    for (const isUnwatched of [false, true]) {
      const world = createWorld({ first: [answer] }, { defaultModel: 'first/a' })
      const { result } = await runOn(world, { isUnwatched })
      expect(result).toMatchObject({ state: 'completed', result: text })
      expect(world.asked).toHaveLength(1)
    }
  })
})
