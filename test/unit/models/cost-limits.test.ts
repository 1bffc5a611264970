import { describe, expect, it } from 'vitest'
import { createWorld, ofType, runOn, type Answer } from './upstreams.ts'

const server = (id: string, price?: readonly [number, number]) => ({
  id,
  baseUrl: `http://${id}/v1`,
  models: [
    {
      name: 'm',
      ...(price && { price: { inputUsdPerMillion: price[0], outputUsdPerMillion: price[1] } }),
    },
  ],
})
const fine: Record<string, readonly Answer[]> = {
  unknown: [{ text: 'unknown' }],
  priced: [{ text: 'priced' }],
}
const limits = { maxCostNanoUsd: 1_000_000 }

describe('E1, C2: with a cost limit in force a model without a price', () => {
  const alone = { defaultModel: 'unknown/m', servers: [server('unknown')] }

  it('is not asked, and the error names it and the way out', async () => {
    const world = createWorld(fine, alone)
    const { result } = await runOn(world, { limits })
    expect(result).toMatchObject({
      state: 'failed',
      error: {
        code: 'model_price_unknown',
        message: expect.stringMatching(/unknown\/m.*ISOLA_PRICES/),
      },
    })
    expect(world.asked).toEqual([])
  })

  it('is asked as ever where nothing limits the cost', async () => {
    const { result } = await runOn(createWorld(fine, alone), { limits: { maxTokens: 50_000 } })
    expect(result.result).toBe('unknown')
  })

  it('is asked once the operator gives its price, and stops at the limit', async () => {
    const price = { inputUsdPerMillion: 1, outputUsdPerMillion: 1 }
    const world = createWorld(fine, { ...alone, prices: { 'unknown/m': price } })
    const paid = await runOn(world, { limits: { maxCostNanoUsd: 1_000_000_000 } })
    expect(paid.result).toMatchObject({ result: 'unknown', usage: { costNanoUsd: 110_000 } })
    const stopped = await runOn(world, { limits: { maxCostNanoUsd: 1_000 } })
    expect(stopped.result.error?.code).toBe('lease_cost')
    expect(world.asked).toHaveLength(1)
  })

  it('has no price of another provider whose name its own begins with', async () => {
    const prices = { 'google/m': { inputUsdPerMillion: 0, outputUsdPerMillion: 0 } }
    const router = { ...server('router'), models: [{ name: 'google/m' }] }
    const settings = (more: object = {}) => ({
      defaultModel: 'router/google/m',
      servers: [router, server('google')],
      prices: { ...prices, ...more },
    })
    const answers = { router: [{ text: 'router' }], google: [{ text: 'google' }] }
    const world = createWorld(answers, settings())
    const refused = await runOn(world, { limits })
    expect(refused.result.error?.code).toBe('model_price_unknown')
    expect(world.asked).toEqual([])
    const own = await runOn(world, { limits, model: 'google/m' })
    expect(own.result).toMatchObject({ result: 'google', usage: { costNanoUsd: 0 } })
    const price = { inputUsdPerMillion: 1, outputUsdPerMillion: 1 }
    const named = createWorld(answers, settings({ 'router/google/m': price }))
    const paid = await runOn(named, { limits: { maxCostNanoUsd: 1_000_000_000 } })
    expect(paid.result).toMatchObject({ result: 'router', usage: { costNanoUsd: 110_000 } })
    // No other server has that name: here it is the name of a model.
    const alone = createWorld(answers, { ...settings(), servers: [router] })
    expect((await runOn(alone, { limits })).result.result).toBe('router')
  })

  it('is asked if the operator says that it costs nothing', async () => {
    const free = { inputUsdPerMillion: 0, outputUsdPerMillion: 0 }
    const { result } = await runOn(createWorld(fine, { ...alone, prices: { m: free } }), { limits })
    expect(result).toMatchObject({ result: 'unknown', usage: { costNanoUsd: 0 } })
  })

  it('is passed over for one that has a price', async () => {
    const world = createWorld(fine, {
      defaultModel: 'unknown/m,priced/m',
      servers: [server('unknown'), server('priced', [1, 2])],
    })
    const { result, events } = await runOn(world, { limits: { maxCostNanoUsd: 1_000_000_000 } })
    expect(result.result).toBe('priced')
    expect(world.asked).toEqual(['priced m'])
    expect(ofType(events, 'model_substituted')).toMatchObject([
      { passedOver: [{ provider: 'unknown', model: 'm', reason: 'price' }] },
    ])
  })

  it('does not take over from one that has a price', async () => {
    const world = createWorld(
      { unknown: fine['unknown']!, priced: [{ status: 503 }] },
      {
        defaultModel: 'priced/m,unknown/m',
        servers: [server('unknown'), server('priced', [0, 0])],
      },
    )
    const { result } = await runOn(world, { limits })
    expect(result.error?.code).toBe('model_unavailable')
    expect(new Set(world.asked)).toEqual(new Set(['priced m']))
  })

  it('does not come in through a name that no server serves', async () => {
    const world = createWorld(fine, alone)
    const { result } = await runOn(world, { limits, model: 'nobody/x' })
    expect(result.error?.code).toBe('model_price_unknown')
    expect(world.asked).toEqual([])
  })
})

it('the offline model costs 0, and that is known', async () => {
  const { result } = await runOn(createWorld({}, { isDevelopment: true }), { limits })
  expect(result).toMatchObject({ state: 'completed', usage: { costNanoUsd: 0 } })
})
