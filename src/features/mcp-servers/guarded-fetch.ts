import { isOfThisMachine } from '#contracts/destination.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { secretNamesIn, secretReference, type McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { CheckUrl, Outbound, OutboundError } from '#contracts/outbound.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import { notSignedIn } from './call-failure.ts'

/**
 * Whether a sign-in may send a request to a host other than the server's: a host that the operator named, a part of
 * the server's domain, or a sibling under the same registered domain. A domain under which any stranger can have a
 * name (a public suffix) is no site. Of a suffix that is not known here the first label counts as a name, so that a
 * doubtful host is refused and an operator has to name it.
 */
export function mayBeAsked(url: URL, server: URL, named: readonly string[]): boolean {
  const host = url.hostname
  if (named.some((one) => one.toLowerCase() === host)) return true
  if (host === server.hostname) return url.protocol === server.protocol
  if (isOfThisMachine(host) || isOfThisMachine(server.hostname))
    return isOfThisMachine(host) && isOfThisMachine(server.hostname)
  const site = siteOf(server.hostname)
  return site !== undefined && (host === site || host.endsWith(`.${site}`))
}

/** Hosters and registries under which strangers are neighbours. */
const shared =
  /(^|\.)(workers\.dev|pages\.dev|vercel\.app|netlify\.app|github\.io|gitlab\.io|herokuapp\.com|onrender\.com|fly\.dev|railway\.app|azurewebsites\.net|azurecontainerapps\.io|azurefd\.net|cloudfront\.net|amazonaws\.com|awsapprunner\.com|run\.app|web\.app|firebaseapp\.com|appspot\.com|cloudfunctions\.net|googleusercontent\.com|ngrok\.io|ngrok\.app|ngrok-free\.app|trycloudflare\.com|deno\.dev|replit\.app|repl\.co|hf\.space|modal\.run|surge\.sh|glitch\.me|smithery\.ai|mcp\.run)$/

/** The domain that a host shares with its siblings; `undefined` if that cannot be known. */
function siteOf(host: string): string | undefined {
  if (/^[\d.]+$/.test(host) || host.startsWith('[')) return undefined
  const labels = host.split('.')
  if (labels.length < 2 || shared.test(host)) return undefined
  const [second = '', top = ''] = labels.slice(-2)
  // co.uk, com.au and their like: two labels that belong to a registry.
  const isRegistry =
    top.length === 2 &&
    (second.length <= 3 || /^(com|net|org|edu|gov|gob|gouv|asso|info)$/.test(second))
  const size = isRegistry ? 3 : 2
  return labels.length < size ? undefined : labels.slice(-size).join('.')
}

/** The network, its rules, and the secrets that headers name. */
export interface GuardedFetchDeps extends Pick<Outbound, 'send' | 'checkUrl'> {
  readonly readSecrets: ReadSecrets
  /** Told each secret that goes to the server, before it goes. */
  readonly onSecret: (value: string) => void
  /** A request to the server itself needs a token: the deployment's own headers are no sign-in in its place. */
  readonly needsToken?: boolean
}

/** The time limit of requests to other hosts: discovery, registration, tokens. */
const maxAroundMs = 30_000
/** How long a request to the server may go on after the call it was for is given up. */
const maxAfterCallMs = 30_000
const maxBytes = 4 * 1024 * 1024

/**
 * The one way to the network for all that the client library does: calls, discovery, registration, tokens. Its own
 * server, and for signing in hosts of the same site or those the operator named; no redirect is followed below the
 * library, which asks here again for each hop; at most 4 MiB of answer. The headers with secrets go to the server's own
 * address only. (docs/security.md T16)
 */
export function createGuardedFetch(
  config: Pick<
    McpServerConfig,
    'id' | 'url' | 'headers' | 'auth' | 'authHosts' | 'allow' | 'timeoutMs'
  >,
  { send, checkUrl, readSecrets, onSecret, needsToken }: GuardedFetchDeps,
) {
  const server = new URL(config.url)
  return async (target: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = addressOf(String(target), checkUrl)
    const isServer = url.origin === server.origin
    if (!isServer && !(config.auth !== 'headers' && mayBeAsked(url, server, config.authHosts)))
      throw refused(
        `${url.hostname} is not the server's host (for signing in an operator can name it: --auth-host)`,
      )
    const headers = new Headers(init.headers)
    if (needsToken && isOwnAddress(url, server) && !headers.has('authorization'))
      throw new IsolaError('tool_failed', notSignedIn.principal(config.id))
    if (isOwnAddress(url, server))
      await putHeaders(headers, config.headers, { readSecrets, onSecret })
    const token = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]
    if (token !== undefined) onSecret(token)
    // A stream that only waits for news would keep this object in memory: lists are looked at again instead.
    if (!mayAsk(config.allow) && isIdleStream(init)) return new Response(null, { status: 405 })
    const { method = 'GET', body, signal } = init
    const timeoutMs = timeFor(init, isOwnAddress(url, server) ? config.timeoutMs : undefined)
    const request = { url: url.href, method, headers, body, signal }
    return (
      await send(request, { maxBytes, toError, ...(timeoutMs && { timeoutMs }) })
    ).toResponse()
  }
}

/**
 * A call has a time limit of its own, and the library does not always end its request: a request that no caller
 * awaits would keep this object awake. A stream for a server's questions ends with its connection.
 */
function timeFor(init: RequestInit, callMs: number | undefined): number | undefined {
  if (callMs === undefined) return maxAroundMs
  return isIdleStream(init) ? undefined : Math.max(callMs, maxAroundMs) + maxAfterCallMs
}

/** Keeps the platform's own error about the connection: the library and we recognise a lost connection by it. */
function toError({ failure, message, cause }: OutboundError): Error {
  if (failure === 'late') return new DOMException(message, 'TimeoutError')
  const isOfTheWay = failure === 'unreachable' || failure === 'aborted' || failure === 'broken_off'
  return isOfTheWay && cause instanceof Error ? cause : new IsolaError('tool_failed', message)
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

function addressOf(url: string, checkUrl: CheckUrl): URL {
  try {
    return checkUrl(url)
  } catch (error) {
    throw new IsolaError('tool_failed', errorMessage(error))
  }
}

const refused = (why: string) => new IsolaError('tool_failed', `The request was refused: ${why}`)

async function putHeaders(
  headers: Headers,
  given: McpServerConfig['headers'],
  { readSecrets, onSecret }: Pick<GuardedFetchDeps, 'readSecrets' | 'onSecret'>,
): Promise<void> {
  const names = Object.values(given).flatMap(secretNamesIn)
  const values = await readSecrets([...new Set(names)])
  for (const value of values.values()) onSecret(value)
  for (const [name, value] of Object.entries(given)) {
    // A header that the library sets (a fresh token) is newer than the operator's.
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
