import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai/error'
import type { Clock } from '#contracts/sources.ts'
import { notAStream } from './failures.ts'
import { isObject, parsed } from './said-json.ts'

/** One request, and what its sender wants to hear of its way. */
export interface Sending {
  /** JSON. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onSent: () => void
  /** The server accepted the request: a reply follows, or breaks off. */
  readonly onBegun: () => void
}

/**
 * Sends one request, never again by itself. Resolves with a response whose body is a reply. Throws an `APIError` of the
 * package with what a server refused, an `APIConnectionError` where there is no answer, `model_invalid_reply` for a web
 * page; after an abort anything.
 */
export type Client = (sending: Sending) => Promise<Response>

export interface ClientOptions {
  readonly apiKey?: string | undefined
  readonly baseUrl?: string | undefined
  readonly fetch: typeof fetch
  readonly sleep: Clock['sleep']
}

/** What is read of an error's body, and how long for: a refusal is clear without it. */
const maxErrorBytes = 64 * 1024
const maxErrorWaitMs = 2_000

/** The way to one server, for all calls. */
export function createClient({ apiKey, baseUrl, fetch, sleep }: ClientOptions): Client {
  const address = addressOf(baseUrl ?? 'https://api.openai.com/v1')
  const ours = {
    accept: 'application/json',
    'content-type': 'application/json',
    // Some servers answer nobody without a name.
    'user-agent': 'isola',
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  }
  return async ({ body, headers, signal, onSent, onBegun }) => {
    const underway = fetch(address, {
      method: 'POST',
      headers: { ...ours, ...headers },
      body,
      signal,
      // Followed, a redirect would carry key and conversation to whoever it names.
      redirect: 'manual',
    })
    onSent()
    const response = await underway.catch((error: unknown) => {
      throw unreachable(error)
    })
    // Whoever asked has gone, and their books are closed.
    signal.throwIfAborted()
    const startOf = () => readStart(response, signal, sleep)
    // Status 0 is a redirect that the platform keeps to itself.
    if (response.status < 200) throw new APIConnectionError({ message: undefined })
    if (!response.ok) throw refusal(response, await startOf())
    onBegun()
    const type = response.headers.get('content-type')
    if (type !== null && !isReply(type)) throw notAStream(type, await startOf())
    return response
  }
}

/** What the base URL asks for stays behind the path. One that is none is the fetch's to refuse. */
function addressOf(baseUrl: string): string {
  const path = (base: string) => `${base.replace(/\/$/, '')}/chat/completions`
  if (!URL.canParse(baseUrl)) return path(baseUrl)
  const url = new URL(baseUrl)
  url.pathname = path(url.pathname)
  return url.href
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

/** A refusal in the words of the package, which reads what is under `error`: what is beside it is read all the same. */
function refusal({ status, headers }: Response, text: string): APIError {
  const whole = parsed(text)
  // Google's address for this protocol puts its errors into a list.
  const said: unknown = Array.isArray(whole) && isObject(whole[0]) ? whole[0] : whole
  if (!said) return APIError.generate(status, undefined, text, headers)
  if (!isObject(said) || Array.isArray(said) || 'error' in said)
    return APIError.generate(status, said, undefined, headers)
  const message = 'message' in said && typeof said.message === 'string' ? said.message : text
  return APIError.generate(status, { error: { ...said, message } }, undefined, headers)
}

const isReply = (contentType: string): boolean =>
  /text\/event-stream|application\/json/i.test(contentType)

/** The beginning of a body that is not what we asked for, as far as it comes soon. */
async function readStart(
  { body }: Response,
  signal: AbortSignal,
  sleep: Clock['sleep'],
): Promise<string> {
  const reader = body?.getReader()
  if (!reader) return ''
  const isRead = new AbortController()
  const isLate = sleep(maxErrorWaitMs, AbortSignal.any([signal, isRead.signal]))
  const decoder = new TextDecoder()
  let text = ''
  for (let sizeBytes = 0; sizeBytes < maxErrorBytes;) {
    const piece = await Promise.race([reader.read().catch(() => undefined), isLate])
    if (!piece?.value) break
    const part = piece.value.subarray(0, maxErrorBytes - sizeBytes)
    sizeBytes += part.length
    text += decoder.decode(part, { stream: true })
  }
  isRead.abort()
  void reader.cancel().catch(() => {})
  return text
}
