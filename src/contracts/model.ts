import { errorCode } from './errors.ts'
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
  /** Which tool the first model call of a run has to take; later calls choose freely. */
  readonly toolChoice?: ToolChoice
  readonly responseFormat?: ResponseFormat
}

/** `tool`: exactly this one, by the name the model sees. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

/** What a client asked the text to be. A provider that cannot hold to it answers in text as it can. */
export type ResponseFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly schema: JsonSchema
      readonly strict?: boolean
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

/** A bill that is no number would unmake a ledger, a negative one would credit it: the whole reservation stands then. */
export function billable(usage: ModelUsage, reserved: ModelEstimate): ModelUsage {
  const counts = [usage.inputTokens, usage.outputTokens, usage.costNanoUsd]
  if (counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return usage
  const { tokens: inputTokens, costNanoUsd } = reserved
  return { ...usage, inputTokens, outputTokens: 0, costNanoUsd, estimated: true }
}

export interface ModelCallOptions {
  readonly signal: AbortSignal
  /** Nobody reads along: the provider may take the answer in one piece, which is cheaper. */
  readonly isUnwatched?: boolean
  /** Text as it arrives. */
  readonly onDelta: (text: string) => void
  /** Called whenever a request is on its way; the caller's row is written after it (section 4 step 4). */
  readonly onSent: () => void
  /** Called when a request was accepted: from here on a failure is booked as a call, whatever its code. */
  readonly onBegun: () => void
  /**
   * Asked before a failed request is sent again, and before the wait for it: puts the failure on the record, books it
   * if it may have been billed, and reserves for another. False: the lease does not allow another (fail closed).
   */
  readonly mayRetry: (failure: unknown) => boolean
}

export interface ModelSelection {
  readonly provider: string
  readonly model: string
  /** True when the asked-for model is not served here and the default took its place. */
  readonly substituted: boolean
}

/**
 * Something that answers model requests. May throw `IsolaError` of family `model_`, nothing else but the reason of
 * the caller's signal. A provider is changed only before its first delta.
 *
 * A refusal (`isRefusal`) before `onBegun` costs nothing; any other failure of a request that was sent is booked with
 * all that was reserved for it.
 */
export interface ModelProvider {
  readonly id: string
  /** Which model would answer, and whether it is a substitute. Throws `model_not_configured`. */
  readonly select: (model: string | undefined) => ModelSelection
  readonly estimate: (request: ModelRequest) => ModelEstimate
  readonly generate: (request: ModelRequest, options: ModelCallOptions) => Promise<ModelReply>
}

/** Failures with which a provider says that it did not work on the request, unless a reply had begun. */
export function isRefusal(error: unknown): boolean {
  switch (errorCode(error)) {
    case 'model_auth':
    case 'model_rate_limited':
    case 'model_unavailable':
    case 'model_refused_request':
    case 'model_not_configured':
      return true
    default:
      return false
  }
}

/** A model that this deployment serves, as `/v1/models` lists it. */
export interface ModelListing {
  readonly id: string
  readonly provider: string
}
