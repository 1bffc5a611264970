import { describe, expect, it } from 'vitest'
import { rowsOf, toSource } from '../../../scripts/update-prices.mjs'

/** In litellm's form, with figures of our own. */
const entry = (more: object = {}) => ({
  litellm_provider: 'openai',
  mode: 'chat',
  max_input_tokens: 1_000,
  max_output_tokens: 100,
  max_tokens: 100,
  input_cost_per_token: 1.5e-7,
  output_cost_per_token: 6e-7,
  ...more,
})

describe('npm run prices', () => {
  it('takes price, window and key of each model, by vendor and name', () => {
    expect(
      rowsOf({
        sample_spec: { mode: 'one of: chat, embedding', litellm_provider: 'one of …' },
        'gpt-a': entry({ cache_read_input_token_cost: 7.5e-8 }),
        'gemini/gemini-b': entry({ litellm_provider: 'gemini', max_output_tokens: undefined }),
        'groq/openai/gpt-oss': entry({ litellm_provider: 'groq', max_input_tokens: 131072.0 }),
        'zai/free': entry({
          litellm_provider: 'zai',
          input_cost_per_token: 0,
          output_cost_per_token: 0,
        }),
      }),
    ).toEqual({
      'gemini/gemini-b': [0.15, 0.6, 1_000, null, 'gemini/gemini-b'],
      'groq/openai/gpt-oss': [0.15, 0.6, 131_072, 100, 'groq/openai/gpt-oss'],
      'openai/gpt-a': [0.15, 0.6, 1_000, 100, 'gpt-a'],
      'zai/free': [0, 0, 1_000, 100, 'zai/free'],
    })
  })

  it('keeps every tier, none cheaper than the one before', () => {
    const tiers = {
      input_cost_per_token_above_200k_tokens: 3e-7,
      output_cost_per_token_above_200k_tokens: 9e-7,
      input_cost_per_token_above_128k_tokens: 2e-7,
      // Not a tier of ours: another service level, and what caching costs.
      input_cost_per_token_above_200k_tokens_priority: 9e-7,
      cache_creation_input_token_cost_above_1hr: 9e-7,
    }
    expect(rowsOf({ 'gpt-a': entry(tiers) })).toEqual({
      'openai/gpt-a': [0.15, 0.6, 1_000, 100, 'gpt-a', [128_000, 0.2, 0.6], [200_000, 0.3, 0.9]],
    })
  })

  it('counts output as reasoning where that is dearer', () => {
    const rows = rowsOf({
      'gpt-a': entry({ output_cost_per_reasoning_token: 3e-6 }),
      'gpt-b': entry({ output_cost_per_reasoning_token: 1e-7 }),
    })
    expect(rows['openai/gpt-a']?.[1]).toBe(3)
    expect(rows['openai/gpt-b']?.[1]).toBe(0.6)
  })

  it('knows a dated version without its date too, and then the dearest', () => {
    const dear = { input_cost_per_token: 5e-6, output_cost_per_token: 1.5e-5 }
    const rows = rowsOf({
      'gpt-a': entry(),
      'gpt-a-2024-05-13': entry(dear),
      'claude-b-20250101': entry({ litellm_provider: 'anthropic' }),
      'claude-b-20250501': entry({ litellm_provider: 'anthropic', ...dear }),
      'xai/grok-c': entry({ litellm_provider: 'xai' }),
      'xai/grok-c-latest': entry({
        litellm_provider: 'xai',
        input_cost_per_token_above_128k_tokens: 1e-6,
      }),
    })
    expect(rows['openai/gpt-a']?.[0]).toBe(0.15)
    expect(rows['openai/gpt-a-2024-05-13']?.[0]).toBe(5)
    expect(rows['anthropic/claude-b']?.[4]).toBe('claude-b-20250501')
    // `-latest` is the very same model.
    expect(rows['xai/grok-c']?.[5]).toEqual([128_000, 1, 0.6])
  })

  it('takes the dearest of each price: no version costs more than the name without its date', () => {
    const version = (input: number, output: number, more: object = {}) =>
      entry({ input_cost_per_token: input, output_cost_per_token: output, ...more })
    const rows = rowsOf({
      'gpt-a-2025-01-01': version(1e-6, 9e-6),
      'gpt-a-2025-05-01': version(2e-6, 4e-6, {
        input_cost_per_token_above_200k_tokens: 3e-6,
      }),
      'gpt-a-2025-09-01': version(1e-6, 5e-6, {
        output_cost_per_token_above_128k_tokens: 1.2e-5,
      }),
    })
    expect(rows['openai/gpt-a']).toEqual([
      2,
      9,
      1_000,
      100,
      'gpt-a-2025-09-01',
      [128_000, 2, 12],
      [200_000, 3, 12],
    ])
  })

  it.each([
    ['of a vendor that we do not know', entry({ litellm_provider: 'azure' })],
    ['that is no chat', entry({ mode: 'embedding' })],
    ['without a price', entry({ input_cost_per_token: undefined })],
    ['with a price that is none', entry({ output_cost_per_token: '1e-6' })],
    ['with a price below zero', entry({ input_cost_per_token: -1 })],
    ['with tiers in another form', entry({ tiered_pricing: [{ range: [0, 32_000] }] })],
    ['that is nothing', null],
  ])('leaves out a model %s', (_what, value) => {
    expect(rowsOf({ 'gpt-a': value })).toEqual({})
  })

  it('leaves out regions and tuned models, whose names are others', () => {
    expect(rowsOf({ 'eu/gpt-a': entry(), 'ft:gpt-a': entry() })).toEqual({})
  })

  it('writes where it is from', () => {
    const list = { 'gpt-a': entry(), 'gpt-b-2026-01-01': entry(), 'gpt-c-latest': entry() }
    const source = toSource(rowsOf(list), {
      commit: 'f'.repeat(40),
      date: 'of 2026-01-02',
    })
    expect(source).toContain('github.com/BerriAI/litellm')
    expect(source).toContain(`commit ${'f'.repeat(40)}, of 2026-01-02`)
    expect(source).toContain('"openai/gpt-a": [0.15,0.6,1000,100,null]')
    // Known by another name than the list has.
    expect(source).toContain('"openai/gpt-b": [0.15,0.6,1000,100,"gpt-b-2026-01-01"]')
    expect(source).toContain('"openai/gpt-c": [0.15,0.6,1000,100,"gpt-c-latest"]')
  })
})
