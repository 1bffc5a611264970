import type { JsonObject, JsonSchema } from './json.ts'
import type { Message, OpaqueFields } from './message.ts'

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
  /** `false`: at most one call a reply; of a service that makes more all the same the first one is taken. */
  readonly parallelToolCalls?: boolean
}

/** `tool`: exactly this one, by the name the model sees. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

/**
 * The format that a client asked for; an agent's own `outputSchema` wins. A model that is known not to keep to it is
 * not tried; a service that ignores it answers in text.
 */
export type ResponseFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly schema: JsonSchema
      readonly strict?: boolean
    }

/** A request to a model: its name, its input, and the most it may spend. */
export interface ModelRequest {
  /** `<provider>/<model>` or a bare model name; `default` or `undefined` means the deployment's default. */
  readonly model: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly parameters: ModelParameters
  /** Ask for JSON that fits this schema. */
  readonly outputSchema?: JsonSchema
  /**
   * The cost ceiling, `unlimited` or absent if there is none: a model that may cost more is passed over for one that
   * fits, if there is one; a model without a known price is not asked at all.
   */
  readonly maxCostNanoUsd?: number
  /** The hosts that its answer may point at, `*.` before a name for all below it; absent: every one. */
  readonly answersPointAt?: readonly string[]
}

/** The price of a model, in US dollars per million tokens. */
export interface TokenPrice {
  readonly inputUsdPerMillion: number
  readonly outputUsdPerMillion: number
}

/** A model's price, which may rise with the length of the input. */
export interface ModelPrice extends TokenPrice {
  /** The price of all tokens of a call whose input has more tokens than this. Ascending; each at least as dear. */
  readonly above?: readonly (TokenPrice & { readonly inputTokens: number })[]
}

/** The model that will answer. */
export interface ContextModel {
  readonly name: string
  /** Input and output together, in tokens. Not known if absent: then only the budget and `force` compact. */
  readonly contextTokens?: number
  /** The output cap of the call. */
  readonly maxOutputTokens: number
  readonly price?: ModelPrice
}

/** The usage of one model call, as the provider counted it. */
export interface ModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Billionths of a US dollar; 0 when the price is not known (`priced` is then false). */
  readonly costNanoUsd: number
  readonly priced: boolean
  /** True when the provider sent no usage and the figures are our estimate. */
  readonly estimated: boolean
}

/** A call that a model asks for. */
export interface ModelToolCall {
  /** The provider's id, unique within the reply; made by us if it sent none. */
  readonly id: string
  readonly name: string
  readonly input: JsonObject
  readonly opaque?: OpaqueFields
}

/** A model's whole answer. */
export interface ModelReply {
  readonly text: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly finishReason: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  readonly usage: ModelUsage
  /** Provider id and the model name that really answered. */
  readonly provider: string
  readonly model: string
}

/** The most a call may cost, before it is made: input × 1.25 + output cap. */
export interface ModelEstimate {
  readonly tokens: number
  readonly costNanoUsd: number
}

/** Calls `due` after so many milliseconds, which must not throw. @returns Calls it off. */
export type After = (ms: number, due: () => void) => () => void

/** How the caller of a model reads along, stops it, and is asked before anything is sent again. */
export interface ModelCallOptions {
  readonly signal: AbortSignal
  /** The timer of the run. Without it the provider sets its own. */
  readonly after?: After | undefined
  /** No reader follows the reply: the provider may take the answer in one piece, which is cheaper. */
  readonly isUnwatched?: boolean
  /** The headers of the next request: each request is a span of its own. */
  readonly headers?: () => Readonly<Record<string, string>>
  /** Text as it arrives. */
  readonly onDelta: (text: string) => void
  /**
   * Called whenever a request is on its way; the caller's row is written after it (docs/design.md section 4, step 4).
   */
  readonly onSent: () => void
  /**
   * Called before a request fails that certainly did not reach the provider: no connection, or a break before the
   * request's end. It costs nothing.
   */
  readonly onUnsent?: () => void
  /** Called when a request was accepted: from here on a failure is booked as a call, whatever its code. */
  readonly onBegun: () => void
  /**
   * Asked before a failed request is sent again, and before the wait for it: puts the failure on the record, books it
   * if it may have been billed, and reserves for another. False: the lease does not allow another (fail closed).
   *
   * @param next Set if another model is asked instead, with what a call of it may cost.
   */
  readonly mayRetry: (failure: unknown, next?: NextModel) => boolean
}

/** Which model is taken for a request, before it is asked. */
export interface ModelSelection {
  readonly provider: string
  readonly model: string
  /** True when this is not the model that was asked for, or not the first in priority order. */
  readonly substituted: boolean
  /** The models before it, each with the reason why it was passed over. */
  readonly passedOver?: readonly PassedOver[]
}

/** The model that would take over, and the most a call of it may cost. */
export interface NextModel {
  readonly selection: ModelSelection
  readonly estimate: ModelEstimate
}

/**
 * What a model lacks for a request (`images`, `tools`, `structured_output`, `context`, `price`, `cost`),
 * `cooling_down`, `score` (the host's function ruled it out or preferred another), or the code it failed with.
 */
export type PassedOver = {
  readonly provider: string
  readonly model: string
  readonly reason: string
}

/**
 * Something that answers model requests. May throw `IsolaError` of family `model_`, nothing else but the reason of
 * the caller's signal. A provider is changed only before its first delta.
 *
 * A refusal (`isRefusal` of leases/) before `onBegun` costs nothing; any other failure of a request that was sent
 * is booked with all that was reserved for it.
 */
export interface ModelProvider {
  readonly id: string
  /**
   * Which model would answer, and whether it is a substitute; with the request, by what that needs.
   * Throws `model_not_configured`, `model_not_capable` or `model_price_unknown`.
   */
  readonly select: (model: string | undefined, request?: ModelRequest) => ModelSelection
  readonly estimate: (request: ModelRequest) => ModelEstimate
  /**
   * The request with an output cap that so many tokens, and its own cost ceiling, can pay; no less than 256.
   * Absent: caps stay as they are.
   */
  readonly fit?: (request: ModelRequest, maxTokens: number) => ModelRequest
  /** How much the model takes that would answer, however long the request is; `undefined` if none would. */
  readonly contextOf?: (request: ModelRequest) => ContextModel | undefined
  readonly generate: (request: ModelRequest, options: ModelCallOptions) => Promise<ModelReply>
}
