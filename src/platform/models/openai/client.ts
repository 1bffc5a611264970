import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai/error'
import type { OutboundAnswer, OutboundError, Send } from '#contracts/outbound.ts'
import { brokenOff, notAStream } from './failures.ts'
import { tooManyBytes, isObject, parsed } from './reply-limits.ts'

/** One request, and the callbacks for its stages. */
export interface Sending {
  /** JSON. */
  readonly body: string
  /** The most bytes of a reply, unpacked. */
  readonly maxBytes: number
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onSent: () => void
  /** Told, when the request leaves, how to ask whether the network has taken all of it. */
  readonly watchBody: (isTaken: () => boolean) => void
  /** The server accepted the request: a reply follows, or breaks off. */
  readonly onBegun: () => void
}

/**
 * Sends one request, never again by itself. Resolves with an answer that is a reply. Throws an `APIError` of the
 * package with what a server refused, an `APIConnectionError` where there is no answer, `model_invalid_reply` for a web
 * page; after an abort anything.
 */
export type ModelClient = (sending: Sending) => Promise<OutboundAnswer>

export interface ModelClientOptions {
  readonly apiKey?: string | undefined
  readonly baseUrl?: string | undefined
  readonly send: Send
}

/** How much of an error's body is read, and for how long: a refusal is clear without it. */
const ofAnError = { maxBytes: 64 * 1024, maxMs: 2_000 }

/** The way to one server, for all calls. */
export function createClient({ apiKey, baseUrl, send }: ModelClientOptions): ModelClient {
  const address = addressOf(baseUrl ?? 'https://api.openai.com/v1')
  const ours = {
    accept: 'application/json',
    'content-type': 'application/json',
    // Some servers refuse a client without a name.
    'user-agent': 'isola',
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  }
  return async ({ body, maxBytes, headers, signal, watchBody, onSent, onBegun }) => {
    const request = { url: address, method: 'POST', headers: { ...ours, ...headers }, body, signal }
    const toError = (error: OutboundError) => failureOf(error, maxBytes)
    // No redirect is followed: it would carry key and conversation to another server.
    const underway = send(request, { operator: address, maxBytes, toError, watchBody })
    onSent()
    const answer = await underway
    // The caller has gone and settled its lease.
    signal.throwIfAborted()
    if (answer.status < 200 || answer.status > 299)
      throw refusal(answer, await answer.start(ofAnError))
    onBegun()
    const type = answer.headers.get('content-type')
    if (type !== null && !isReply(type)) throw notAStream(type, await answer.start(ofAnError))
    return answer
  }
}

/** The base URL's query stays behind the path. A base URL that is none is refused by the fetch. */
function addressOf(baseUrl: string): string {
  const path = (base: string) => `${base.replace(/\/$/, '')}/chat/completions`
  if (!URL.canParse(baseUrl)) return path(baseUrl)
  const url = new URL(baseUrl)
  url.pathname = path(url.pathname)
  return url.href
}

function failureOf({ failure, message, cause }: OutboundError, maxBytes: number): Error {
  switch (failure) {
    case 'too_large':
      return tooManyBytes(maxBytes)
    case 'broken_off':
    case 'aborted':
      return brokenOff(cause)
    default:
      return unreachable(cause ?? new Error(message))
  }
}

/** There was no answer; a platform that gave up waiting says so in words only. */
function unreachable(error: unknown): APIConnectionError {
  const cause = error instanceof Error ? error : new Error(String(error))
  const said = `${String(cause)}${cause.cause === undefined ? '' : String(cause.cause)}`
  const isTimeout = cause.name === 'AbortError' || /timed? ?out/i.test(said)
  return isTimeout
    ? Object.assign(new APIConnectionTimeoutError(), { cause })
    : new APIConnectionError({ message: undefined, cause })
}

/** A refusal as the package's error. The package reads the field `error` only: fields beside it are read here. */
function refusal({ status, headers }: OutboundAnswer, text: string): APIError {
  const whole = parsed(text)
  // Google's address for this protocol puts its errors into a list.
  const said: unknown = Array.isArray(whole) && isObject(whole[0]) ? whole[0] : whole
  if (!said) return APIError.generate(status, undefined, text, headers)
  if (!isObject(said) || Array.isArray(said) || ('error' in said && said.error))
    return APIError.generate(status, said, undefined, headers)
  const message = 'message' in said && typeof said.message === 'string' ? said.message : text
  return APIError.generate(status, { error: { ...said, message } }, undefined, headers)
}

/** How the body begins says which of them it is. */
const isReply = (contentType: string): boolean =>
  /text\/event-stream|json|text\/plain/i.test(contentType)
