import type { ModelEstimate, ModelPrice } from '#contracts/model.ts'

/** The name of whatever is the deployment's default. A server's own model of this name is `<provider>/default`. */
export const defaultModelName = 'default'

/**
 * The capabilities of a model, as the operator or its provider declares them; an absent capability is unknown, and
 * then tried.
 */
export interface ModelCapabilities {
  /** Input and output together. */
  readonly contextTokens?: number
  readonly images?: boolean
  readonly tools?: boolean
  readonly structuredOutput?: boolean
}

/** The needs of a request (I6). */
export interface ModelNeeds {
  readonly images: boolean
  readonly tools: boolean
  readonly structuredOutput: boolean
  /** Estimated input and the output cap. */
  readonly contextTokens: number
  /** `unlimited` if there is no ceiling. */
  readonly maxCostNanoUsd: number
}

/** A model that can serve a request, before one is taken. */
export interface ModelCandidate {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  /** Its place in priority order, from 0. */
  readonly priority: number
  /** The most this call may cost: 0 if no price is known. */
  readonly estimate: ModelEstimate
  /** A price is known; 0 is a price. */
  readonly isPriced: boolean
  /** Figures of its last calls in this isolate; absent before the first. */
  readonly latencyMs?: number
}

/**
 * A host's own way to choose (latency, cost, kind of task): the highest score is taken, equal ones in priority order;
 * `-Infinity` or no number rules a candidate out. Pure, and it never throws.
 */
export type ScoreModel = (candidate: ModelCandidate, needs: ModelNeeds) => number

/** A model that this deployment serves, as `/v1/models` lists it. */
export interface ModelListing {
  readonly id: string
  readonly provider: string
}

/** A price, and where it is from, in words for an operator. */
export interface KnownPrice extends ModelPrice {
  readonly source: string
}

/** How many tokens a model takes and gives, and where that is from. */
export interface ModelWindow {
  readonly contextTokens?: number
  readonly maxOutputTokens?: number
  readonly source: string
}

/** The state of a served model. The last two fields are one isolate's recent observations, not the record. */
export interface ModelStatus {
  readonly id: string
  readonly capabilities: ModelCapabilities
  /** Absent if none is known: such a model is not asked under a cost limit. */
  readonly price?: KnownPrice
  /** The vendor's own figures. Contexts are compacted by them; no request is refused for them. */
  readonly window?: ModelWindow
  /** Epoch milliseconds: failed in a row, and passed over until then if another can take the call. */
  readonly coolingUntilMs?: number
  /** A running mean of the calls that were answered. */
  readonly latencyMs?: number
}
