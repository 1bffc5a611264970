import { describe, expect, it } from 'vitest'
import { createWorld, ofType, runOn } from './upstreams.ts'

const both = { defaultModel: 'first/a, second/b' }
const fine = [{ text: 'from the second' }]
const names = (events: Awaited<ReturnType<typeof runOn>>['events']) =>
  events.map(({ type }) => type).filter((type) => /^model_|^lease_/.test(type))

describe('I6, C2, P29: another model takes over', () => {
  it('after the retries of the first are used up, each attempt reserved and on the record', async () => {
    const world = createWorld({ first: [{ status: 503 }], second: fine }, both)
    const { result, events } = await runOn(world)
    expect(result).toMatchObject({ state: 'completed', result: 'from the second' })
    expect(world.asked).toEqual(['first a', 'first a', 'first a', 'second b'])
    expect(names(events)).toEqual([
      'model_failed',
      'model_failed',
      'model_failed',
      'model_substituted',
      'model_called',
    ])
    expect(ofType(events, 'model_failed')[2]).toMatchObject({
      provider: 'first',
      model: 'a',
      code: 'model_unavailable',
      bookedTokens: 0,
    })
    expect(ofType(events, 'model_substituted')).toEqual([
      {
        asked: '',
        provider: 'second',
        model: 'b',
        passedOver: [{ provider: 'first', model: 'a', reason: 'model_unavailable' }],
      },
    ])
    expect(result.modelCalls).toMatchObject([{ provider: 'second' }])
  })

  it.each([
    ['a rate limit', { status: 429 }, 'model_rate_limited'],
    ['a server that cannot be reached', 'unreachable', 'model_network'],
    ['a key that is refused', { status: 401 }, 'model_auth'],
    [
      'an account without credit',
      { status: 429, code: 'insufficient_quota' },
      'model_rate_limited',
    ],
  ] as const)('after %s', async (_what, answer, reason) => {
    const { result, events } = await runOn(createWorld({ first: [answer], second: fine }, both))
    expect(result.result).toBe('from the second')
    expect(ofType(events, 'model_substituted')[0]).toMatchObject({ passedOver: [{ reason }] })
  })

  it('books in full what may have been billed before it takes over', async () => {
    const world = createWorld({ first: ['unreachable'], second: fine }, both)
    const { result, events } = await runOn(world)
    const booked = ofType(events, 'model_failed').map(({ bookedTokens }) => Number(bookedTokens))
    expect(booked).toHaveLength(3)
    expect(result.usage.tokens).toBe(booked.reduce((sum, tokens) => sum + tokens, 110))
  })

  it('for a model that an agent or a caller named, too', async () => {
    const world = createWorld(
      { first: [{ status: 503 }], second: fine },
      { defaultModel: 'second/b' },
    )
    const { result, events } = await runOn(world, { model: 'first/a' })
    expect(result.result).toBe('from the second')
    expect(ofType(events, 'model_substituted')).toMatchObject([{ asked: 'first/a' }])
  })

  it('not after the first delta', async () => {
    const world = createWorld({ first: [{ cutAfter: 'Hel' }], second: fine }, both)
    const { result, seen } = await runOn(world)
    expect(result).toMatchObject({ state: 'failed', error: { code: 'model_network' } })
    expect([seen, world.asked]).toEqual(['Hel', ['first a']])
  })

  it('not for a request that was refused for what it says', async () => {
    const world = createWorld({ first: [{ status: 400 }], second: fine }, both)
    const { result } = await runOn(world)
    expect(result.error?.code).toBe('model_refused_request')
    expect(world.asked).toEqual(['first a'])
  })

  it('not without leave of the lease', async () => {
    const world = createWorld({ first: ['unreachable'], second: fine }, both)
    const { result, events } = await runOn(world, {
      limits: { maxTokens: 500 },
      parameters: { maxOutputTokens: 400 },
    })
    expect(result.success).toBe(false)
    expect(world.asked).toEqual(['first a'])
    expect(names(events)).toEqual(['model_failed', 'lease_refused'])
  })

  it('not when the lease has nothing left for the other one', async () => {
    const world = createWorld({ first: ['unreachable'], second: fine }, both)
    const { result, events } = await runOn(world, {
      limits: { maxTokens: 1_500 },
      parameters: { maxOutputTokens: 400 },
    })
    expect(result.error?.code).toBe('model_network')
    expect(world.asked).toEqual(['first a', 'first a', 'first a'])
    expect(names(events).slice(-2)).toEqual(['model_failed', 'lease_refused'])
  })

  it('not once the run is cancelled', async () => {
    const cancel = new AbortController()
    const world = createWorld({ first: [{ status: 503 }], second: fine }, both, {
      onAsk: () => cancel.abort(new Error('enough')),
    })
    const { result } = await runOn(world, { signal: cancel.signal })
    expect([result.state, world.asked]).toEqual(['cancelled', ['first a']])
  })

  it('fails as the last model did when no other is left', async () => {
    const world = createWorld({ first: [{ status: 503 }], second: [{ status: 401 }] }, both)
    const { result, events } = await runOn(world)
    expect(result.error?.code).toBe('model_auth')
    expect(ofType(events, 'model_failed').map(({ provider }) => provider)).toEqual([
      'first',
      'first',
      'first',
      'second',
    ])
  })

  it('within the time limit of the whole call', async () => {
    const world = createWorld({ first: [{ status: 503 }], second: [{ status: 503 }] }, both)
    const { result } = await runOn(world, { parameters: { timeoutMs: 1_200 } })
    // The waits between its tries, 500 and 1,000 ms, have used it up.
    expect(world.asked).toEqual(['first a', 'first a', 'first a'])
    expect(result.error?.code).toBe('model_unavailable')
  })
})

describe('Retry-After', () => {
  it('is waited for, up to 20 seconds, while no other model is ready', async () => {
    const world = createWorld(
      { first: [{ status: 429, retryAfter: '3600' }, { text: 'there' }] },
      { defaultModel: 'first/a' },
    )
    expect((await runOn(world)).result.result).toBe('there')
    expect(world.clock.waits).toEqual([20_000])
  })

  it('is not waited for when it is long and another model is ready', async () => {
    const world = createWorld({ first: [{ status: 429, retryAfter: '60' }], second: fine }, both)
    expect((await runOn(world)).result.result).toBe('from the second')
    expect([world.asked, world.clock.waits]).toEqual([['first a', 'second b'], []])
  })
})

describe('C2: a provider that failed three times in a row', () => {
  it('is passed over for a while, which the record says, and then asked again', async () => {
    const world = createWorld(
      {
        first: [{ status: 503 }, { status: 503 }, { status: 503 }, { text: 'again' }],
        second: fine,
      },
      both,
    )
    await runOn(world)
    const { result, events } = await runOn(world)
    expect(result.result).toBe('from the second')
    expect(world.asked.slice(4)).toEqual(['second b'])
    expect(ofType(events, 'model_substituted')).toMatchObject([
      { passedOver: [{ provider: 'first', model: 'a', reason: 'cooling_down' }] },
    ])
    expect(world.models.status()).toMatchObject([
      { id: 'first/a', coolingUntilMs: expect.any(Number) },
      { id: 'second/b', latencyMs: 0 },
    ])
    world.clock.advance(30_000)
    expect((await runOn(world)).result.result).toBe('again')
    expect(world.models.status()[0]).not.toHaveProperty('coolingUntilMs')
  })

  it('cools down again after one more failure, and for as long as it asks', async () => {
    const busy = { status: 429, retryAfter: '120' }
    const world = createWorld({ first: [busy], second: fine }, both)
    for (let run = 0; run < 3; run += 1) await runOn(world)
    expect(world.asked.filter((name) => name === 'first a')).toHaveLength(3)
    world.clock.advance(60_000)
    await runOn(world)
    expect(world.asked.filter((name) => name === 'first a')).toHaveLength(3)
    world.clock.advance(60_000)
    await runOn(world)
    await runOn(world)
    expect(world.asked.filter((name) => name === 'first a')).toHaveLength(4)
  })

  it('is asked all the same if it is the only one, or the others cannot', async () => {
    const world = createWorld({ first: [{ status: 503 }] }, { defaultModel: 'first/a' })
    await runOn(world)
    await runOn(world)
    expect(world.asked).toHaveLength(6)
  })

  it('is the last resort when the others fail', async () => {
    const world = createWorld(
      {
        first: [{ status: 503 }, { status: 503 }, { status: 503 }, { text: 'after all' }],
        second: [{ text: 'fine' }, { status: 401 }],
      },
      both,
    )
    await runOn(world)
    expect((await runOn(world)).result.result).toBe('after all')
  })

  it('does not count requests that were bad in themselves, nor cancelled ones', async () => {
    const world = createWorld({ first: [{ status: 400 }], second: fine }, both)
    for (let run = 0; run < 4; run += 1) await runOn(world)
    expect(world.asked).toEqual(['first a', 'first a', 'first a', 'first a'])
  })

  it('cools one model only where the model was rate limited', async () => {
    const world = createWorld(
      { first: [{ status: 429 }, { status: 429 }, { status: 429 }, { text: 'the other' }] },
      { defaultModel: 'first/a,first/b' },
    )
    await runOn(world)
    expect((await runOn(world)).result.result).toBe('the other')
    expect(world.asked.slice(3)).toEqual(['first b', 'first b'])
  })
})
