import type { ModelPrice, TokenPrice } from '#contracts/model.ts'
import type { ModelCapabilities } from './model.ts'

/** Settings of the model room, from `.dev.vars`, secrets or vars. Parsed once, in the composition. */
export interface ModelConfig {
  readonly openaiApiKey?: string
  /** Any OpenAI-compatible server; the `/v1` is part of it. */
  readonly openaiBaseUrl?: string
  /** `<provider>/<model>` or a bare name for the OpenAI-compatible provider; several in priority order, by commas. */
  readonly defaultModel?: string
  /** Further OpenAI-compatible servers. */
  readonly servers?: readonly ModelServer[]
  /** Prices of the operator's own, by `<provider>/<model>` or a model's name at any provider; they come first. */
  readonly prices?: Readonly<Record<string, ModelPrice>>
  /** Only then is the offline model the fallback. */
  readonly isDevelopment: boolean
}

/** `max_tokens` is what most servers know; OpenAI's reasoning models take the other one only. */
export type OutputCapField = 'max_tokens' | 'max_completion_tokens'

/** One OpenAI-compatible server, with its key and the models it is said to have. */
export interface ModelServer {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey?: string
  /** Which field carries the output cap there; by the model's name if it is absent. */
  readonly outputCapField?: OutputCapField
  /** It may be given addresses of images, and fetches them itself. */
  readonly isPublic?: boolean
  /** None: any name is tried there. */
  readonly models: readonly DeclaredModel[]
}

export interface DeclaredModel extends ModelCapabilities {
  readonly name: string
  readonly price?: TokenPrice
}
