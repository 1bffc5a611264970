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
  /** Only then is the offline model the fallback. */
  readonly isDevelopment: boolean
}

/** One OpenAI-compatible server, with its key and the models it is said to have. */
export interface ModelServer {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey?: string
  /** None: any name is tried there. */
  readonly models: readonly DeclaredModel[]
}

export interface DeclaredModel extends ModelCapabilities {
  readonly name: string
  readonly price?: { readonly inputUsdPerMillion: number; readonly outputUsdPerMillion: number }
}
