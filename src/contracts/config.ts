/** Settings of the model room, from `.dev.vars`, secrets or vars. Parsed once, in the composition. */
export interface ModelConfig {
  readonly openaiApiKey?: string
  /** Any OpenAI-compatible server; the `/v1` is part of it. */
  readonly openaiBaseUrl?: string
  /** `<provider>/<model>` or a bare name for the OpenAI-compatible provider. */
  readonly defaultModel?: string
  /** Only then is the offline model the fallback. */
  readonly isDevelopment: boolean
}
