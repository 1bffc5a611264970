import { describe, expect, it } from 'vitest'
import { priceFile } from '../../../src/platform/models/price-data.ts'
import { readPriceFile, type PriceFile, vendorOf } from '../../../src/platform/models/prices.ts'

const file: PriceFile = {
  repository: 'some/list',
  path: 'prices.json',
  commit: 'abcdef0123456789abcdef0123456789abcdef01',
  date: 'read on 2026-01-02',
  models: {
    'openai/gpt-a': [1, 2, 1_000, 100, 'gpt-a'],
    'openai/gpt-a-2024-05-13': [5, 15, 1_000, 100, 'gpt-a-2024-05-13'],
    'openai/gpt-long': [1, 2, 900_000, null, 'gpt-long', [200_000, 2, 3]],
    'gemini/gemini-b': [3, 4, 1_000, 100, 'gemini/gemini-b'],
    'zai/glm': [0, 0, null, null, 'zai/glm'],
    'xai/gift': [0, 0, null, null, 'xai/gift'],
    'gemini/gemini-long': [1, 9, 900_000, null, 'gemini/gemini-long', [200_000, 2, 12]],
    'openrouter/google/gemini-long': [1.5, 8, 900_000, null, 'openrouter/google/gemini-long'],
    'groq/openai/gpt-oss': [7, 8, null, null, 'groq/openai/gpt-oss'],
    'cloudflare/@cf/openai/gpt-oss': [9, 9, null, null, 'cloudflare/@cf/openai/gpt-oss'],
  },
}
const inputPrice = (baseUrl: string | undefined, model: string) =>
  readPriceFile(file, vendorOf(baseUrl)).priceOf(model)?.inputUsdPerMillion
const gateway = 'https://gateway.example/v1'

describe('the price of a model', () => {
  it.each([
    ["OpenAI's own server", undefined, 'gpt-a', 1],
    ['a dated version', undefined, 'gpt-a-2025-01-01', 1],
    ['a dated version with a price of its own', undefined, 'gpt-a-2024-05-13', 5],
    ['the name of a maker at a gateway', gateway, 'gpt-a', 1],
    ['a prefix that names the maker', gateway, 'openai/gpt-a', 1],
    ['a prefix that names where the maker is hosted', gateway, 'azure/gpt-a', 1],
    ['two prefixes', gateway, 'openrouter/openai/gpt-a', 1],
    ['a prefix that is spelled otherwise there', gateway, 'google/gemini-b', 3],
    ['the same at a router', 'https://openrouter.ai/api/v1', 'google/gemini-b', 3],
    ["a host's own server", 'https://api.groq.com/openai/v1', 'openai/gpt-oss', 7],
    ['a host that a prefix names', gateway, 'groq/openai/gpt-oss', 7],
    ['what its own vendor gives away', 'https://api.z.ai/api/paas/v4', 'glm', 0],
  ])('is known by %s', (_what, baseUrl, model, price) => {
    expect(inputPrice(baseUrl, model)).toBe(price)
  })

  it.each([
    ['open weights at somebody else', gateway, 'glm'],
    ['what its own vendor gives away, at a gateway', gateway, 'zai/glm'],
    ['the same at a router', 'https://openrouter.ai/api/v1', 'x-ai/gift'],
    ['open weights under their maker’s name', gateway, 'openai/gpt-oss'],
    ['another vendor’s name at a vendor', 'https://api.groq.com/openai/v1', 'gpt-a'],
    ['a prefix that is nobody we know', gateway, 'my-team/gpt-a'],
    ['a longer name', gateway, 'gpt-a-mini'],
    ['a tuned model', undefined, 'ft:gpt-a:org'],
    ['a local tag', 'http://localhost:11434/v1', 'gpt-oss:20b'],
    ['nothing', gateway, ''],
    ['what every object has', gateway, 'constructor'],
    ['what every object has', gateway, '__proto__'],
    ['a host that only ends alike', 'https://notapi.groq.com/v1', 'openai/gpt-oss'],
  ])('is not known of %s', (_what, baseUrl, model) => {
    expect(inputPrice(baseUrl, model)).toBeUndefined()
  })

  it.each([
    ['https://openrouter.ai/api/v1', 'google/gemini-long'],
    [gateway, 'openrouter/google/gemini-long'],
  ])('at %s of %s has the tiers of its maker: no bill comes out above it', (baseUrl, model) => {
    const price = readPriceFile(file, vendorOf(baseUrl)).priceOf(model)
    expect(price).toEqual({
      inputUsdPerMillion: 1.5,
      outputUsdPerMillion: 8,
      above: [{ inputTokens: 200_000, inputUsdPerMillion: 2, outputUsdPerMillion: 12 }],
      source:
        'some/list@abcdef012 (read on 2026-01-02): openrouter/google/gemini-long, long inputs: gemini/gemini-long',
    })
  })

  it('says the usual key where the file has no other for it', () => {
    const models = {
      'openai/gpt-a': [1, 2, 1_000, 100, null],
      'groq/openai/gpt-oss': [1, 2, 1_000, 100, null],
    } as const
    const sources = (vendor: string, model: string) => {
      const { priceOf, windowOf } = readPriceFile({ ...file, models }, vendor)
      return [priceOf(model)?.source, windowOf(model)?.source]
    }
    const from = 'some/list@abcdef012 (read on 2026-01-02)'
    expect(sources('openai', 'gpt-a')).toEqual([`${from}: gpt-a`, `${from}: gpt-a`])
    const groq = `${from}: groq/openai/gpt-oss`
    expect(sources('groq', 'openai/gpt-oss')).toEqual([groq, groq])
  })

  it('says where it is from, and so does the window', () => {
    const { priceOf, windowOf } = readPriceFile(file, 'openai')
    expect(priceOf('gpt-long')).toEqual({
      inputUsdPerMillion: 1,
      outputUsdPerMillion: 2,
      above: [{ inputTokens: 200_000, inputUsdPerMillion: 2, outputUsdPerMillion: 3 }],
      source: 'some/list@abcdef012 (read on 2026-01-02): gpt-long',
    })
    expect(windowOf('gpt-long')).toEqual({
      contextTokens: 900_000,
      source: 'some/list@abcdef012 (read on 2026-01-02): gpt-long',
    })
    expect(windowOf('unknown')).toBeUndefined()
  })
})

describe('the price file', () => {
  it('names repository, path, commit and date', () => {
    expect(priceFile).toMatchObject({
      repository: 'BerriAI/litellm',
      path: 'model_prices_and_context_window.json',
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      date: expect.stringMatching(/^(of|read on) 20\d\d-\d\d-\d\d$/),
    })
  })

  it('has prices that are none below zero, with tiers that only get dearer', () => {
    for (const row of Object.values(priceFile.models)) {
      const [input, output, , , , ...above] = row
      const steps = [[0, input, output] as const, ...above]
      for (const [index, [from, ...prices]] of steps.entries()) {
        const [fromBefore = -1, ...before] = steps[index - 1] ?? []
        expect(from).toBeGreaterThan(fromBefore)
        for (const [at, price] of prices.entries())
          expect(price).toBeGreaterThanOrEqual(before[at] ?? 0)
      }
    }
  })

  it('knows that a router passes on what its makers ask for long inputs', () => {
    const { priceOf } = readPriceFile(priceFile, 'openrouter')
    expect(priceOf('google/gemini-2.5-pro')?.above).toEqual([
      { inputTokens: 200_000, inputUsdPerMillion: 2.5, outputUsdPerMillion: 15 },
    ])
  })

  it('knows the default model of each provider', () => {
    expect(readPriceFile(priceFile, 'openai').priceOf('gpt-4o-mini')).toBeDefined()
    expect(
      readPriceFile(priceFile, 'cloudflare').priceOf('@cf/zai-org/glm-4.7-flash'),
    ).toBeDefined()
  })
})
