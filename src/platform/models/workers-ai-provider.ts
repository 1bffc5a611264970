import type { Outbound } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import type { TokenEstimator } from './estimate.ts'
import type { ModelBackend } from './model-backend.ts'
import { createOpenAiProvider } from './openai-provider.ts'
import type { PriceOf } from './prices.ts'
import { createBindingFetch, type WorkersAi } from './workers-ai/binding-fetch.ts'
import { fromWorkersAi } from './workers-ai/translate.ts'

/**
 * Answers through the `AI` binding: no key, billed to the account that the Worker runs in. The limits, retries and
 * checks are those of the OpenAI-compatible provider, since the binding is a server like any other behind it.
 */
export function createWorkersAiProvider(options: {
  readonly ai: WorkersAi
  readonly over: Outbound['over']
  readonly sleep: Clock['sleep']
  readonly tokens: TokenEstimator
  readonly priceOf: PriceOf
}): ModelBackend {
  const { ai, over, sleep, tokens, priceOf } = options
  return createOpenAiProvider({
    id: 'workers-ai',
    // Never reached: requests go to the binding.
    baseUrl: 'https://workers-ai.invalid/v1',
    send: over(createBindingFetch(ai)),
    sleep,
    tokens,
    priceOf,
    translate: fromWorkersAi,
  })
}
