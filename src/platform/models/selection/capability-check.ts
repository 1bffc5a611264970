import { unlimited } from '#contracts/lease.ts'
import type { ModelCandidate, ModelCapabilities, ModelNeeds } from '../types.ts'
import type { ModelRequest } from '#contracts/model.ts'
import { outputCap } from '../estimate.ts'

/** The needs of a request, read from the request itself (I6). */
export function needsOf(request: ModelRequest, inputTokens: number): ModelNeeds {
  const { messages, tools, outputSchema, parameters, maxCostNanoUsd = unlimited } = request
  return {
    images: messages.some(
      (message) => message.role === 'user' && (message.images ?? []).length > 0,
    ),
    tools: tools.length > 0,
    structuredOutput: outputSchema !== undefined || parameters.responseFormat !== undefined,
    contextTokens: inputTokens + outputCap(request),
    maxCostNanoUsd,
  }
}

/** A capability that a model lacks; a retry cannot help. */
export type Lack = 'images' | 'tools' | 'structured_output' | 'context'

/** The first capability that a model is known to lack. An unknown capability is tried. */
export function lackOf(capabilities: ModelCapabilities, needs: ModelNeeds): Lack | undefined {
  const { contextTokens, images, tools, structuredOutput } = capabilities
  if (needs.images && images === false) return 'images'
  if (needs.tools && tools === false) return 'tools'
  if (needs.structuredOutput && structuredOutput === false) return 'structured_output'
  if (contextTokens !== undefined && needs.contextTokens > contextTokens) return 'context'
  return undefined
}

/** An unknown price is too dear for any ceiling. */
export const hasPriceForIt = ({ isPriced }: ModelCandidate, needs: ModelNeeds): boolean =>
  isPriced || needs.maxCostNanoUsd >= unlimited

/** Whether the most a call may cost fits its cost limit. */
export const isAffordable = ({ estimate }: ModelCandidate, needs: ModelNeeds): boolean =>
  estimate.costNanoUsd <= needs.maxCostNanoUsd

/** A lack as a caller reads it. */
export function tellLack(
  { provider, model, capabilities }: ModelCandidate,
  lack: Lack,
  needs: ModelNeeds,
): string {
  const name = `${provider}/${model}`
  switch (lack) {
    case 'images':
      return `${name} takes no images`
    case 'tools':
      return `${name} takes no tools`
    case 'structured_output':
      return `${name} gives no structured output`
    case 'context':
      return `${name} has room for ${capabilities.contextTokens} tokens of about ${needs.contextTokens}`
  }
}
