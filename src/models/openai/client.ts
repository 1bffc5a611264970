import { OpenAI } from 'openai'
import type { Clock } from '#contracts/sources.ts'
import { brokenOff, notAStream } from './failures.ts'

/** What one request wants to hear of its way; given to `fetchOptions` by `asFetchOptions`. */
export interface RequestHooks {
  readonly signal: AbortSignal
  readonly onSent: () => void
  /** The server accepted the request: a reply follows, or breaks off. */
  readonly onBegun: () => void
  /** Bytes of the reply as they arrive; what it throws ends the reply. */
  readonly onBytes: (sizeBytes: number) => void
}

export interface ClientOptions {
  readonly apiKey?: string | undefined
  readonly baseUrl?: string | undefined
  readonly fetch: typeof fetch
  readonly sleep: Clock['sleep']
}

/** What is read of an error's body, and how long for: a refusal is clear without it. */
const maxErrorBytes = 64 * 1024
const maxErrorWaitMs = 2_000

/** The way to one server, for all calls: one request each, never sent again by itself. */
export function createClient({ apiKey, baseUrl, fetch, sleep }: ClientOptions): OpenAI {
  return new OpenAI({
    apiKey: apiKey ?? 'none',
    // Given explicitly, since the package reads the environment for whatever is left out (N4).
    baseURL: baseUrl ?? 'https://api.openai.com/v1',
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
    ...(apiKey === undefined && { defaultHeaders: { Authorization: null } }),
    async fetch(url, init) {
      const { hooks, ...request } = (init ?? {}) as RequestInit & { hooks: RequestHooks }
      // Followed, a redirect would carry key and conversation to whoever it names.
      const underway = fetch(url, { ...request, redirect: 'manual' })
      hooks.onSent()
      const response = await underway
      const startOf = () => readStart(response, hooks.signal, sleep)
      if (!response.ok) {
        const { status, headers } = response
        // Status 0 is a redirect that the platform keeps to itself. 304 may have no body, not even an empty one.
        return status < 200
          ? response
          : new Response(asError(await startOf()) || null, { status, headers })
      }
      hooks.onBegun()
      const type = response.headers.get('content-type')
      if (type !== null && !isReply(type)) throw notAStream(type, await startOf())
      return guarded(response, hooks.onBytes)
    },
  })
}

/** The package hands these to our fetch untouched, and no further: one client serves all calls. */
export const asFetchOptions = (hooks: RequestHooks): object => ({ hooks })

/** The package reads what is under `error`: a server that puts it beside is read all the same. */
function asError(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null || Array.isArray(body) || 'error' in body)
      return text
    const said = Object(body) as Readonly<Record<string, unknown>>
    const message = typeof said['message'] === 'string' ? said['message'] : text
    return JSON.stringify({ error: { ...said, message } })
  } catch {
    return text
  }
}

const isReply = (contentType: string): boolean =>
  /text\/event-stream|application\/json/i.test(contentType)

/** The same response, with its bytes counted as they are read. */
function guarded(response: Response, onBytes: RequestHooks['onBytes']): Response {
  if (!response.body) return response
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw brokenOff(error)
        })
        if (done) return controller.close()
        try {
          onBytes(value.length)
        } catch (error) {
          void reader.cancel(error).catch(() => {})
          throw error
        }
        controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const headers = new Headers(response.headers)
  // What we read is decoded already.
  headers.delete('content-encoding')
  headers.delete('content-length')
  return new Response(body, { status: response.status, headers })
}

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
