import type { JsonObject, JsonSchema } from './json.ts'
import type { Message } from './message.ts'

/** A tool as a model sees it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

/** Sampling settings, passed through within the agent's limits. Absent means the provider's default. */
export interface ModelParameters {
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly timeoutMs?: number
}

export interface ModelRequest {
  /** `<provider>/<model>` or a bare model name; `undefined` means the deployment's default. */
  readonly model: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly parameters: ModelParameters
  /** Ask for JSON that fits this schema. */
  readonly outputSchema?: JsonSchema
}

/** What one model call cost, as the provider counted it. */
export interface ModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Billionths of a US dollar; 0 when the price is not known (`priced` is then false). */
  readonly costNanoUsd: number
  readonly priced: boolean
  /** True when the provider sent no usage and the figures are our estimate. */
  readonly estimated: boolean
}

export interface ModelToolCall {
  /** The provider's id, unique within the reply; made by us if it sent none. */
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export interface ModelReply {
  readonly text: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly finishReason: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  readonly usage: ModelUsage
  /** Provider id and the model name that really answered. */
  readonly provider: string
  readonly model: string
}

/** What a call may cost at most, before it is made: input × 1.25 + output cap. */
export interface ModelEstimate {
  readonly tokens: number
  readonly costNanoUsd: number
}

export interface ModelCallOptions {
  readonly signal: AbortSignal
  /** Nobody reads along: the provider may take the answer in one piece, which is cheaper. */
  readonly isUnwatched?: boolean
  /** Text as it arrives. */
  readonly onDelta: (text: string) => void
  /** Called once when the request is on its way; the caller's row is written after it (section 4 step 4). */
  readonly onSent: () => void
}

export interface ModelSelection {
  readonly provider: string
  readonly model: string
  /** True when the asked-for model is not served here and the default took its place. */
  readonly substituted: boolean
}

/**
 * Something that answers model requests. May throw `IsolaError` of family `model_`, nothing else.
 * A provider is changed only before its first delta.
 */
export interface ModelProvider {
  readonly id: string
  /** Which model would answer, and whether it is a substitute. Throws `model_not_configured`. */
  readonly select: (model: string | undefined) => ModelSelection
  readonly estimate: (request: ModelRequest) => ModelEstimate
  readonly generate: (request: ModelRequest, options: ModelCallOptions) => Promise<ModelReply>
}

/** A model that this deployment serves, as `/v1/models` lists it. */
export interface ModelListing {
  readonly id: string
  readonly provider: string
}
