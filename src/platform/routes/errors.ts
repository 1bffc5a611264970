import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { ConfigErrorCode, ModelErrorCode, RequestErrorCode } from '#contracts/errors.ts'

/** Tells a client's library that a repeated request would be a second run, with a second effect. */
export const notAgain: Readonly<Record<string, string>> = { 'x-should-retry': 'false' }

/** The one table code → status. A code that is not in it takes its family's status. */
const statusByCode: Record<RequestErrorCode | ConfigErrorCode | ModelErrorCode, number> = {
  request_invalid: 400,
  request_unsupported_parameter: 400,
  request_unauthenticated: 401,
  request_auth_not_configured: 503,
  request_login_limited: 429,
  request_forbidden: 403,
  request_insufficient_scope: 403,
  request_not_found: 404,
  request_model_not_found: 404,
  request_method_not_allowed: 405,
  request_unsupported_media_type: 415,
  request_too_large: 413,
  request_conflict: 409,
  request_idempotency_mismatch: 422,
  request_queue_full: 429,
  request_rate_limited: 429,
  request_insufficient_quota: 429,
  request_unavailable: 503,
  config_missing: 503,
  config_invalid: 503,
  config_not_migrated: 503,
  model_unavailable: 502,
  model_auth: 502,
  model_rate_limited: 429,
  model_timeout: 504,
  model_network: 502,
  model_invalid_reply: 502,
  model_empty_reply: 502,
  model_refused_request: 502,
  model_context_exceeded: 400,
  model_not_found: 404,
  model_not_configured: 502,
  model_not_capable: 400,
  model_price_unknown: 400,
  model_denied: 403,
}
const statusByFamily: Readonly<Record<string, number>> = {
  request: 400,
  config: 503,
  model: 502,
  lease: 429,
  plugin: 422,
}
const typeByStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}
const defaultRetryAfterMs = 5_000
/** Waiting a moment does not help: OpenAI has a type of its own for it, and no client is to try again by itself. */
const quota = 'request_insufficient_quota'

/** An error as it goes out. `status` is 500, without a text, for any error that has no code of ours. */
export interface OutgoingError {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly error: ErrorBody }
}

/** The inside of `{ "error": … }`, the OpenAI shape with the id to ask about. */
export interface ErrorBody {
  readonly type: string
  readonly code: string
  readonly message: string
  readonly param: string | null
  readonly request_id: string
}

/**
 * Reads by shape, not by class: an error that crossed Durable Object RPC has lost its class.
 *
 * @param reference What to quote to the operator, as `request_id`: the request, or the run whose outcome the error
 *   is, so that every answer with this outcome reads the same.
 */
export function toOutgoingError(error: unknown, reference: string): OutgoingError {
  const code = errorCode(error)
  const status = code === undefined ? 500 : statusOf(code)
  return {
    status,
    headers: { ...headersFor(status, error), ...(code === quota && notAgain) },
    body: {
      error: {
        type: code === quota ? 'insufficient_quota' : typeOf(status),
        // Only our own family is stripped: `unsupported_parameter` is what OpenAI's clients know.
        code: code === undefined ? 'internal_error' : code.replace(/^request_/, ''),
        message:
          code === undefined
            ? `Something went wrong on our side. Quote ${reference} to the operator.`
            : errorMessage(error),
        param: code === undefined ? null : (readString(error, 'param') ?? null),
        request_id: reference,
      },
    },
  }
}

/** The HTTP status of an error's code: its own, else its family's, else 500. */
export function statusOf(code: string): number {
  const known: Readonly<Record<string, number>> = statusByCode
  return known[code] ?? statusByFamily[code.slice(0, code.indexOf('_'))] ?? 500
}

function typeOf(status: number): string {
  return typeByStatus[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
}

function headersFor(status: number, error: unknown): Record<string, string> {
  if (status === 401) return { 'www-authenticate': 'Bearer' }
  if (status !== 429 && status !== 503) return {}
  const retryAfterMs = readNumber(error, 'retryAfterMs') ?? defaultRetryAfterMs
  return { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }
}

function readString(error: unknown, key: string): string | undefined {
  const value = read(error, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readNumber(error: unknown, key: string): number | undefined {
  const value = read(error, key)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function read(error: unknown, key: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined
}
