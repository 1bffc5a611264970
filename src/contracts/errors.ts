/** Every error family, by the prefix of its code. The table of docs/design.md section 10 says how each is handled. */
export type ErrorCode =
  | ConfigErrorCode
  | PluginErrorCode
  | ToolErrorCode
  | LeaseErrorCode
  | ModelErrorCode
  | RequestErrorCode

/** Raised by the composition: the first request fails loudly. */
export type ConfigErrorCode = 'config_missing' | 'config_invalid' | 'config_not_migrated'

/** Raised by the loader: that plugin is off and listed, the Worker still starts. */
type PluginErrorCode =
  | 'plugin_manifest_invalid'
  | 'plugin_register_failed'
  | 'plugin_contract_mismatch'
  | 'plugin_dependency_missing'
  | 'plugin_name_collision'
  | 'plugin_code_unavailable'
  | 'plugin_isolate_unavailable'
  | 'plugin_prompt_invalid'
  | 'plugin_api_deprecated'
  | 'plugin_upload_invalid'
  | 'plugin_signature_invalid'
  | 'plugin_source_unavailable'

/** A failed `ToolResult` that the model reads; the run goes on. */
export type ToolErrorCode =
  | 'tool_not_found'
  | 'tool_changed'
  | 'tool_invalid_input'
  | 'tool_denied'
  | 'tool_rate_limited'
  | 'tool_timeout'
  | 'tool_cancelled'
  | 'tool_failed'
  | 'tool_outcome_unknown'
  | 'tool_pending'
  | 'tool_expired'

/** A refused or exhausted lease: the run ends as `stopped`, keeping what it has. */
export type LeaseErrorCode =
  | 'lease_tokens'
  | 'lease_cost'
  | 'lease_time'
  | 'lease_turns'
  | 'lease_tool_calls'
  | 'lease_children'
  | 'lease_depth'
  | 'lease_platform'

/** Raised by model providers: retried if transient, then the next provider, then the run fails. */
export type ModelErrorCode =
  | 'model_unavailable'
  | 'model_auth'
  | 'model_rate_limited'
  | 'model_timeout'
  | 'model_network'
  | 'model_invalid_reply'
  | 'model_empty_reply'
  | 'model_refused_request'
  | 'model_context_exceeded'
  | 'model_not_found'
  | 'model_not_configured'
  | 'model_not_capable'
  | 'model_price_unknown'
  | 'model_denied'

/** A 4xx for the caller, from the one table code → status in `http/`. */
export type RequestErrorCode =
  | 'request_invalid'
  | 'request_unsupported_parameter'
  | 'request_unauthenticated'
  | 'request_auth_not_configured'
  | 'request_login_limited'
  | 'request_forbidden'
  | 'request_insufficient_scope'
  | 'request_not_found'
  | 'request_model_not_found'
  | 'request_method_not_allowed'
  | 'request_unsupported_media_type'
  | 'request_too_large'
  | 'request_conflict'
  | 'request_idempotency_mismatch'
  | 'request_queue_full'
  | 'request_rate_limited'
  | 'request_insufficient_quota'
  | 'request_unavailable'

/** A tool call and the run that it is of. */
export interface ErrorCall {
  readonly run: string
  readonly call: string
}

/** The parts of an error besides its code and its message. */
export interface ErrorOptionsFor {
  /** For operators only: never sent to a caller or a model. */
  readonly detail?: string
  /** The field that is wrong, as the caller spelled it (`messages[0].role`). */
  readonly param?: string
  /** The tool call that it is about; its surface names it as its client knows it. */
  readonly call?: ErrorCall
  /** True if the same call may succeed later. It never permits a re-run of an effect. */
  readonly transient?: boolean
  /** How long to wait, in milliseconds, if the other side said so. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/**
 * The one error class of the host. Match on `code`: class identity is lost across Durable Object RPC.
 *
 * `message` is safe for any caller or model: no paths, secrets or other principals' names.
 */
export class IsolaError extends Error {
  readonly code: ErrorCode
  readonly detail: string | undefined
  readonly param: string | undefined
  readonly call: ErrorCall | undefined
  readonly transient: boolean
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, options: ErrorOptionsFor = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'IsolaError'
    this.code = code
    this.detail = options.detail
    this.param = options.param
    this.call = options.call
    this.transient = options.transient ?? false
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Reads the code of anything thrown, also after it crossed RPC; `undefined` for a bug. */
export function errorCode(error: unknown): ErrorCode | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  const code = error.code
  return typeof code === 'string' && /^(config|plugin|tool|lease|model|request)_[a-z_]+$/.test(code)
    ? (code as ErrorCode)
    : undefined
}

/** The text of anything thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
