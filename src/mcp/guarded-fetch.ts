import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { secretNamesIn, secretReference, type McpServerConfig } from '#contracts/mcp.ts'
import type { ReadSecrets } from '#contracts/secrets.ts'
import { mayBeAsked } from './same-site.ts'

/** The platform's fetch. Always called with `redirect: 'manual'`. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

/** The rules of every request that leaves: https, a public host, port 443; throws what is refused. */
export type CheckUrl = (url: string) => URL

/** The network, its rules, and the secrets that headers name. */
export interface GuardDeps {
  readonly fetch: FetchFunction
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  /** Told each secret that goes to the server, before it goes. */
  readonly onSecret: (value: string) => void
}

/** Of a request that is not to the server itself: discovery, registration, tokens. */
const maxAroundMs = 30_000
const maxBodyBytes = 4 * 1024 * 1024

/**
 * The one way to the network for all that the client library does: calls, discovery, registration, tokens. Its own
 * server, and for signing in hosts of the same site or those the operator named; no redirect is followed below the
 * library, which asks here again for each hop; at most 4 MiB of answer. The headers with secrets go to the server's own
 * address only. (docs/security.md T16)
 */
export function createGuardedFetch(
  config: Pick<McpServerConfig, 'url' | 'headers' | 'auth' | 'authHosts' | 'allow'>,
  { fetch, checkUrl, readSecrets, onSecret }: GuardDeps,
) {
  const server = new URL(config.url)
  return async (target: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = checked(String(target), checkUrl)
    const isServer = url.origin === server.origin
    if (!isServer && !(config.auth === 'oauth' && mayBeAsked(url, server, config.authHosts)))
      throw refused(
        `${url.hostname} is not the server's host (for signing in an operator can name it: --auth-host)`,
      )
    const headers = new Headers(init.headers)
    if (isOwnAddress(url, server))
      await putHeaders(headers, config.headers, { readSecrets, onSecret })
    const token = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]
    if (token !== undefined) onSecret(token)
    // A stream that only waits for news would keep this object in memory: lists are looked at again instead.
    if (!mayAsk(config.allow) && isIdleStream(init)) return new Response(null, { status: 405 })
    // Of calls the library knows when they are over; of what it asks around them nobody does.
    const limit = isOwnAddress(url, server) ? {} : { signal: within(init.signal) }
    const response = await fetch(url.href, { ...init, ...limit, headers, redirect: 'manual' })
    return capBody(response)
  }
}

const within = (signal: AbortSignal | null | undefined): AbortSignal => {
  const limit = AbortSignal.timeout(maxAroundMs)
  return signal ? AbortSignal.any([signal, limit]) : limit
}

/** Not to pages that live beside it on the same host, such as those of discovery. */
const isOwnAddress = (url: URL, server: URL): boolean =>
  url.origin === server.origin && url.pathname === server.pathname

/** Whether the operator lets a server ask anything in the middle of a call. */
export const mayAsk = ({ elicitation, sampling }: McpServerConfig['allow']): boolean =>
  elicitation || sampling !== undefined

/** The one stream of a session (2025-11-25) that answers no request. */
export function isIdleStream({ method, headers: given }: RequestInit): boolean {
  const headers = new Headers(given)
  const isStream = (headers.get('accept') ?? '').includes('text/event-stream')
  return method === 'GET' && isStream && !headers.has('last-event-id')
}

function checked(url: string, checkUrl: CheckUrl): URL {
  try {
    return checkUrl(url)
  } catch (error) {
    throw refused(errorMessage(error))
  }
}

const refused = (why: string) => new IsolaError('tool_failed', `The request was refused: ${why}`)

async function putHeaders(
  headers: Headers,
  given: McpServerConfig['headers'],
  { readSecrets, onSecret }: Pick<GuardDeps, 'readSecrets' | 'onSecret'>,
): Promise<void> {
  const names = Object.values(given).flatMap(secretNamesIn)
  const values = await readSecrets([...new Set(names)])
  for (const value of values.values()) onSecret(value)
  for (const [name, value] of Object.entries(given)) {
    // What the library sets itself (a token of its own) is newer than what the operator wrote.
    if (headers.has(name) && name.toLowerCase() === 'authorization') continue
    headers.set(name, filled(value, values))
  }
}

function filled(value: string, values: ReadonlyMap<string, string>): string {
  return value.replace(secretReference, (_all, name: string) => {
    const secret = values.get(name)
    if (secret !== undefined) return secret
    throw new IsolaError(
      'tool_failed',
      `The secret ${name} is not set. The operator sets it: isola secret set ${name}`,
    )
  })
}

function capBody(response: Response): Response {
  if (response.body === null) return response
  let sizeBytes = 0
  const cap = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > maxBodyBytes)
        controller.error(new IsolaError('tool_failed', 'The answer is larger than 4 MiB.'))
      else controller.enqueue(chunk)
    },
  })
  const headers = new Headers(response.headers)
  // The bytes below are decoded already.
  headers.delete('content-encoding')
  headers.delete('content-length')
  const { status, statusText } = response
  return new Response(response.body.pipeThrough(cap), { status, statusText, headers })
}
