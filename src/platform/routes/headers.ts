import { IsolaError } from '#contracts/errors.ts'
import type { RequestTrace } from '#contracts/trace.ts'
import type { Sources } from '#contracts/sources.ts'
import { parseTraceHeaders } from './types/trace.ts'
import type { HttpContext } from './types.ts'
import type { RequestClient } from '#contracts/operations.ts'

const sessionId = /^ses_[0-9A-Za-z]{22}$/
const runId = /^run_[0-9A-Za-z]{22}$/

/** Whether this can be a session's id; the session may not exist. */
export function isSessionId(text: string): boolean {
  return sessionId.test(text)
}

/** Whether this can be a run's id; the run may not exist. */
export function isRunId(text: string): boolean {
  return runId.test(text)
}

/** A header of printable ASCII within a length; `undefined` if it is not sent. Throws `request_invalid`. */
export function readPrintable(
  headers: Headers,
  name: string,
  maxChars: number,
): string | undefined {
  const value = headers.get(name)
  if (value === null) return undefined
  if (value.length >= 1 && value.length <= maxChars && /^[\x20-\x7e]+$/.test(value)) return value
  throw new IsolaError(
    'request_invalid',
    `${name}: must be 1 to ${maxChars} printable ASCII characters.`,
    { param: name },
  )
}

/** The same key and body join the existing run. */
export function readIdempotencyKey(headers: Headers): string | undefined {
  return readPrintable(headers, 'idempotency-key', 255)
}

/**
 * The caller's W3C trace if it sent a valid one (an invalid one is to be ignored), else a new one; the same for all of
 * a request.
 */
export function readTrace(context: HttpContext, sources: Sources): RequestTrace {
  const { headers } = context.req.raw
  const given = parseTraceHeaders(headers.get('traceparent'), headers.get('tracestate'))
  const trace = given?.trace ?? context.get('trace') ?? sources.ids.traceId()
  context.set('trace', trace)
  return { trace, ...(given && { traceLink: given.link }) }
}

/** The client for limits and the record: the address, as Cloudflare reports it, and the request. */
export function clientOf({ req, get }: HttpContext): RequestClient {
  return { address: req.header('cf-connecting-ip'), requestId: get('requestId') }
}
