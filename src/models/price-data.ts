import type { PriceList } from './prices.ts'

// As remembered by the authors in the month below, from the vendors' public price pages (openai.com/api/pricing,
// anthropic.com/pricing, ai.google.dev/pricing). Not looked up since: verify before a bill depends on it. Batch and
// cached-input discounts are left out, so a real bill is at most this.
export const prices: PriceList = {
  asOf: '2025-08',
  models: {
    'gpt-4o': { inputUsdPerMillion: 2.5, outputUsdPerMillion: 10 },
    'gpt-4o-mini': { inputUsdPerMillion: 0.15, outputUsdPerMillion: 0.6 },
    'gpt-4.1': { inputUsdPerMillion: 2, outputUsdPerMillion: 8 },
    'gpt-4.1-mini': { inputUsdPerMillion: 0.4, outputUsdPerMillion: 1.6 },
    'gpt-4.1-nano': { inputUsdPerMillion: 0.1, outputUsdPerMillion: 0.4 },
    'gpt-5': { inputUsdPerMillion: 1.25, outputUsdPerMillion: 10 },
    'gpt-5-mini': { inputUsdPerMillion: 0.25, outputUsdPerMillion: 2 },
    'gpt-5-nano': { inputUsdPerMillion: 0.05, outputUsdPerMillion: 0.4 },
    o3: { inputUsdPerMillion: 2, outputUsdPerMillion: 8 },
    'o4-mini': { inputUsdPerMillion: 1.1, outputUsdPerMillion: 4.4 },
    'claude-opus-4': { inputUsdPerMillion: 15, outputUsdPerMillion: 75 },
    'claude-sonnet-4': { inputUsdPerMillion: 3, outputUsdPerMillion: 15 },
    'claude-3-5-haiku': { inputUsdPerMillion: 0.8, outputUsdPerMillion: 4 },
    'gemini-2.5-pro': { inputUsdPerMillion: 1.25, outputUsdPerMillion: 10 },
    'gemini-2.5-flash': { inputUsdPerMillion: 0.3, outputUsdPerMillion: 2.5 },
  },
}
