import type { ModelCallOptions, ModelProvider, ModelReply, ModelRequest } from '#contracts/model.ts'
import type { ModelCapabilities } from './types.ts'
import type { PriceOf, WindowOf } from './prices.ts'

/** The limit of a whole call unless its agent or caller sets one: waits, retries and other models included. */
export const defaultTimeoutMs = 120_000

/** The options that selection adds to a caller's. */
export interface BackendCall extends ModelCallOptions {
  /** Called with the first piece of a reply: from here on no other model may take over. */
  readonly onHeard?: () => void
  /** Another model is ready: waiting longer than this before a retry is not worth it. */
  readonly maxWaitMs?: number
}

/** A provider before selection: `request.model` is a name that this service knows. */
export interface ModelBackend extends Pick<ModelProvider, 'id' | 'estimate'> {
  readonly generate: (request: ModelRequest, call: BackendCall) => Promise<ModelReply>
  readonly priceOf: PriceOf
}

/** A backend with the models it is known to have. */
export interface RegisteredBackend {
  readonly backend: ModelBackend
  /** By name; in order of preference. */
  readonly models: Readonly<Record<string, ModelCapabilities>>
  /** It may have more models than those: any name is tried. */
  readonly isOpen: boolean
  /** It may be given the address of an image. */
  readonly isPublic: boolean
  /** The most tokens that a model takes and gives, where they are known. */
  readonly windowOf: WindowOf
}
