import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { bundledEntries } from '../fakes/bundled.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { findPrice, toAmount } from '../../plugins/price-monitor/find-price.ts'
import { describeTool } from './describe-tool.ts'
import { createShop } from './price-monitor-world.ts'
import { toSubject } from './tool-subject.ts'

const at = (path: string) => `https://shop.example.com/${path}`

describeTool('price-monitor__watch, in process', {
  inputs: {
    succeed: { url: at('kettle'), name: 'Kettle' },
    invalid: { url: at('kettle') },
    fail: [
      { url: at('gone'), name: 'Gone' },
      { url: at('plain'), name: 'Plain' },
      { url: 'https://127.0.0.1/', name: 'Inside' },
    ],
    hang: { url: at('hang'), name: 'Slow' },
  },
  create: () => {
    const sessions = createFakeGateway()
    const entries = bundledEntries('price-monitor', { ...createShop().deps, sessions })
    return toSubject(entries, 'price-monitor__watch', sessions)
  },
})

function open() {
  const { deps, prices } = createShop()
  const { scopedStorage } = createCapabilityDeps()
  const entries = bundledEntries('price-monitor', { ...deps, scopedStorage })
  const call = async (name: string, input: JsonObject = {}, principal = 'ada') => {
    const { tool } = entries.find((one) => one.tool.name === `price-monitor__${name}`)!
    const result = await tool.execute(input, createToolContext({ principal }))
    return result.ok ? result.output : result.error
  }
  return { call, prices, entries }
}

describe('Y32: the price monitor', () => {
  it('Y10: tells nothing until a price changed by its threshold, and then once', async () => {
    const { call, prices } = open()
    const watched = { url: at('kettle'), name: 'Kettle', threshold_percent: 10 }
    expect(await call('watch', watched)).toEqual({ watched: watched.url, price: '40.00 EUR' })
    await call('watch', { url: at('lamp'), name: 'Lamp' })
    expect(await call('execute')).toEqual({})
    prices.set('/kettle', '38.00')
    expect(await call('execute')).toEqual({})
    // Two small steps are a large one.
    prices.set('/kettle', '35.00')
    const text = `Kettle: 40.00 EUR → 35.00 EUR (-12.5 %) ${watched.url}`
    expect(await call('execute')).toEqual({ text })
    expect(await call('execute')).toEqual({})
    prices.set('/lamp', '12.00')
    expect(await call('execute')).toMatchObject({
      text: expect.stringMatching(/^Lamp: 10.00 EUR → 12.00 EUR \(\+20.0 %\)/) as string,
    })
  })

  it('Y10: the same agent is invoked by hand, and says how all of them are', async () => {
    const { call, prices } = open()
    expect(await call('run', { task: 'How are they?' })).toBe('Nothing is watched.')
    await call('watch', { url: at('kettle'), name: 'Kettle' })
    await call('watch', { url: at('lamp'), name: 'Lamp' })
    prices.set('/kettle', '20.00')
    prices.delete('/lamp')
    expect(await call('run', { task: 'How are they?' })).toBe(
      `Kettle: 40.00 EUR → 20.00 EUR (-50.0 %) ${at('kettle')}\nLamp: The page answered 404. ${at('lamp')}`,
    )
  })

  it('lists and forgets; what one principal watches, no other sees', async () => {
    const { call, prices } = open()
    await call('watch', { url: at('kettle'), name: 'Kettle', threshold_percent: 50 })
    prices.set('/kettle', '39.00')
    await call('execute')
    expect(await call('list')).toEqual({
      items: [
        {
          url: at('kettle'),
          name: 'Kettle',
          threshold_percent: 50,
          told: '40.00 EUR',
          seen: '39.00 EUR',
        },
      ],
    })
    expect(await call('list', {}, 'bob')).toEqual({ items: [] })
    expect(await call('unwatch', { url: at('kettle') }, 'bob')).toEqual({ unwatched: false })
    expect(await call('unwatch', { url: at('kettle') })).toEqual({ unwatched: true })
    expect(await call('list')).toEqual({ items: [] })
  })

  it('watches at most 40 pages', async () => {
    const { call, prices } = open()
    for (let page = 0; page < 40; page += 1) {
      prices.set(`/p${page}`, '1')
      await call('watch', { url: at(`p${page}`), name: `P${page}` })
    }
    expect(await call('watch', { url: at('kettle'), name: 'Kettle' })).toMatchObject({
      message: expect.stringContaining('40 pages') as string,
    })
    expect(await call('watch', { url: at('p7'), name: 'again' })).toMatchObject({
      price: '1.00 EUR',
    })
  })
})

describe('the price on a page', () => {
  it.each([
    [
      '<script type="application/ld+json">{"@graph":[{"a":1},{"offers":[{"price":"1.299,00","priceCurrency":"EUR"}]}]}</script>',
      { amount: 1_299, currency: 'EUR' },
    ],
    [
      '<script type="application/ld+json">{bad</script><script type="application/ld+json">{"offers":{"lowPrice":7}}</script>',
      { amount: 7, currency: '' },
    ],
    [
      '<meta property="product:price:amount" content="12.50"><meta property="product:price:currency" content="USD">',
      { amount: 12.5, currency: 'USD' },
    ],
    [
      '<span itemprop="price" content="9.99">x</span><span itemprop="priceCurrency" content="GBP">',
      { amount: 9.99, currency: 'GBP' },
    ],
    ['<script type="application/ld+json">{"offers":{"price":"free"}}', undefined],
    ['', undefined],
  ])('is found in %s', (html, price) => {
    expect(findPrice(html)).toEqual(price)
  })

  it.each([
    ['1,299.00', 1_299],
    ['1.299,00 €', 1_299],
    ['1,299', 1_299],
    ['12,5', 12.5],
    ['$ 7', 7],
    [0, 0],
    [-1, undefined],
    [Number.NaN, undefined],
    ['', undefined],
    ['1'.repeat(13), undefined],
    [null, undefined],
  ])('%j is the amount %j', (value, amount) => {
    expect(toAmount(value)).toBe(amount)
  })

  it.each([
    '<meta ',
    '<script type="application/ld+json">',
    '<a '.repeat(2),
    'application/ld+json',
  ])('a page of nothing but %j is read to its end', (part) => {
    expect(findPrice(part.repeat(100_000).slice(0, 1_000_000))).toBeUndefined()
  })
})
