import type { DeclaredModel } from '../types.ts'

/**
 * The Workers AI models with known capabilities: the first is the default. From Cloudflare's page of the model
 * (developers.cloudflare.com/workers-ai/models/glm-4.7-flash), read from a stored copy in 2026-11: 131,072 tokens of
 * context, function calling. Any other model is tried. Their prices are in the price file.
 */
export const workersAiModels = [
  {
    name: '@cf/zai-org/glm-4.7-flash',
    contextTokens: 131_072,
    images: false,
    tools: true,
  },
] as const satisfies readonly DeclaredModel[]
