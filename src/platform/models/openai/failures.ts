import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai/error'
import { IsolaError, errorMessage, type ModelErrorCode } from '#contracts/errors.ts'
import { statusIn } from './reply-limits.ts'

const maxDetailChars = 2_000

/**
 * Maps a failed call to our error. `message` is ours and safe for any caller; the service's own text goes into
 * `detail` only, capped and without the key.
 */
export function toModelError(
  error: unknown,
  apiKey: string | undefined,
  model: string,
): IsolaError {
  if (error instanceof IsolaError) return error
  if (error instanceof APIConnectionError && error.cause instanceof IsolaError) return error.cause
  const detail = detailOf(error, apiKey)
  if (error instanceof APIConnectionTimeoutError) {
    return new IsolaError('model_timeout', 'The model service did not answer in time.', {
      detail,
      cause: error,
    })
  }
  if (error instanceof APIError && !(error instanceof APIConnectionError))
    return statusError(error, detail, model)
  if (error instanceof APIConnectionError) {
    return new IsolaError('model_network', 'The model service could not be reached.', {
      detail,
      transient: true,
      cause: error,
    })
  }
  // `brokenOff` covers a connection that breaks later: left is a reply that cannot be parsed.
  return new IsolaError(
    'model_invalid_reply',
    'The model service sent a reply that cannot be read.',
    { detail },
  )
}

/** An answer in which there is nothing that a reply has. */
export function withoutReply(start: string): IsolaError {
  return new IsolaError('model_invalid_reply', 'The model service answered without a choice.', {
    detail: headOf(start, maxDetailChars),
  })
}

/** The connection failed while a reply was read. */
export function brokenOff(error: unknown): IsolaError {
  return new IsolaError(
    'model_network',
    'The connection to the model service broke in the middle of its reply.',
    { detail: headOf(errorMessage(error), maxDetailChars), transient: true, cause: error },
  )
}

/** The reply of a server that does not stream events, which is none. */
export function notAStream(contentType: string | null, start: string): IsolaError {
  return new IsolaError(
    'model_invalid_reply',
    'The model service did not answer with an event stream.',
    {
      detail: headOf(`content-type: ${contentType ?? 'none'}\n${start}`, maxDetailChars),
    },
  )
}

function statusError(error: APIError, detail: string, model: string): IsolaError {
  const status = error.status ?? statusIn(error.error)
  if (isTooLong(error, status)) {
    const what = `What was sent is longer than "${headOf(model, 100)}" takes, says the model service.`
    return new IsolaError('model_context_exceeded', what, { detail })
  }
  if (status === undefined) {
    return new IsolaError('model_unavailable', 'The model service broke off with an error.', {
      detail,
      transient: true,
    })
  }
  const [code, message] = isModelUnknown(error, status, model)
    ? noSuchModel(status, model)
    : meaningOf(status, model)
  // Out of credit is reported as 429 too; waiting does not help there.
  const transient = (status === 429 && error.code !== 'insufficient_quota') || status >= 500
  const retryAfterMs = retryAfterOf(error.headers)
  return new IsolaError(code, message, {
    detail,
    transient,
    ...defined({ retryAfterMs }),
  })
}

function meaningOf(status: number, model: string): readonly [ModelErrorCode, string] {
  if (status === 401 || status === 403)
    return ['model_auth', `The model service refused our key (${status}).`]
  if (status === 429)
    return ['model_rate_limited', 'The model service limits how often it may be called (429).']
  if (status === 408) return ['model_timeout', 'The model service gave up waiting (408).']
  if (status >= 500) return ['model_unavailable', `The model service is not available (${status}).`]
  if (status < 400) {
    return [
      'model_refused_request',
      `The model service answered with a redirect (${status}), which is not followed.`,
    ]
  }
  return [
    'model_refused_request',
    `The model service refused the request for "${headOf(model, 100)}" (${status}).`,
  ]
}

/** The forms in which servers report a request that is longer than the model takes; one server uses status 500. */
function isTooLong({ code, message }: APIError, status = 400): boolean {
  if (code === 'context_length_exceeded' || status === 413) return true
  if (status === 500) return /context size has been exceeded/i.test(message)
  return [400, 422].includes(status) && sizeWords.test(message)
}

const sizeWords = new RegExp(
  [
    'context[ _-]?(?:length|window|size|limit)',
    '(?:prompt|input) is too long',
    'too large for model',
    'maximum number of tokens allowed',
    'maximum (?:prompt|model|input) length',
    'reduce the length of the messages',
    '`?inputs`? (?:tokens )?.{0,40}must (?:have less than|be <=)',
  ].join('|'),
  'i',
)

/** The ways in which servers say that they lack a model; a 404 alone may be a wrong address. */
function isModelUnknown({ code, message }: APIError, status: number, model: string): boolean {
  if (status < 400 || status >= 500) return false
  if (code === 'model_not_found' || code === 'DeploymentNotFound') return true
  if (status === 404) return isNamed(model, message)
  return status === 400 && /not a valid model|invalid model/i.test(message)
}

/** As a whole word: `o1` is not named by `o1-mini`. */
const isNamed = (name: string, text: string): boolean =>
  name !== '' && new RegExp(`(?<![\\w-])${name.replace(/[^\w]/g, '\\$&')}(?![\\w-])`).test(text)

const noSuchModel = (status: number, model: string): readonly [ModelErrorCode, string] => [
  'model_not_found',
  `The model service has no model "${headOf(model, 100)}" (${status}).`,
]

/** Seconds or an HTTP date, which is read against the response's own clock; ours is not asked. */
function retryAfterOf(headers: Headers | undefined): number | undefined {
  const milliseconds = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds
  const value = headers?.get('retry-after')
  if (value === null || value === undefined || value.trim() === '') return undefined
  const seconds = Number(value)
  const waitMs = Number.isFinite(seconds)
    ? seconds * 1_000
    : Date.parse(value) - Date.parse(headers?.get('date') ?? '')
  return Number.isFinite(waitMs) && waitMs >= 0 ? waitMs : undefined
}

function detailOf(error: unknown, apiKey: string | undefined): string {
  const cause =
    error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : ''
  const text = headOf(`${errorMessage(error)}${cause}`, 2 * maxDetailChars)
  // A service may quote the key it was sent.
  return headOf(apiKey ? text.replaceAll(apiKey, '[key]') : text, maxDetailChars)
}
