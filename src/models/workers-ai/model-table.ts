import type { DeclaredModel } from '#contracts/config.ts'

/**
 * What is known of Workers AI models: the first is the default. From Cloudflare's page of the model
 * (developers.cloudflare.com/workers-ai/models/glm-4.7-flash), read from a stored copy in 2026-11: 131,072 tokens of
 * context, function calling, $0.06 and $0.40 per million tokens. Any other model is tried, at no known price.
 */
export const workersAiModels = [
  {
    name: '@cf/zai-org/glm-4.7-flash',
    contextTokens: 131_072,
    images: false,
    tools: true,
    price: { inputUsdPerMillion: 0.06, outputUsdPerMillion: 0.4 },
  },
] as const satisfies readonly DeclaredModel[]
