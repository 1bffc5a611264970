import { ToolError, type Capabilities } from '#contracts/plugin.ts'
import type { Emit } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'
import { checkEgress, type EgressRules } from './egress-rules.ts'
import type { CallSecrets } from './secrets/call-secrets.ts'
import { openSecretExchange, type SecretExchange } from './secrets/secret-exchange.ts'

const maxRedirects = 5
const maxBodyBytes = 2 * 1024 * 1024
const maxHeaders = 64
const maxHeaderChars = 32 * 1024
/** From the request to the end of the answer, redirects included. */
const maxRequestMs = 300_000

/** The platform's fetch, injected. Always called with `redirect: 'manual'`. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

/** The grants, the network and the secrets of one call. */
export interface EgressOptions extends Omit<EgressRules, 'isOpen'> {
  /** Which addresses are open to a grant of every host, as of now: asked before each hop. */
  readonly openNow: () => Promise<EgressRules['isOpen']>
  readonly fetch: FetchFunction
  readonly emit: Emit
  readonly secrets: CallSecrets
  readonly sleep: Clock['sleep']
  readonly idempotencyKey: string
  /** The call as the span that each request comes from. */
  readonly traceparent: string
  /** Fires when the call is over. */
  readonly signal: AbortSignal
}

interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
}

/**
 * A fetch that reaches the granted hosts only: https, port 443, exact host and method, redirects followed here and
 * checked again, at most 2 MiB of body each way. A placeholder becomes its secret here, and a secret that comes back
 * is taken out. Each request is an event.
 * @see docs/design.md section 8, Egress
 */
export function createEgress(options: EgressOptions): Capabilities['fetch'] {
  return async (target, init = {}) => {
    let hop = await firstHop(target, init, options)
    const signal = AbortSignal.any([
      options.signal,
      lateSignal(options),
      ...(init.signal ? [init.signal] : []),
    ])
    const secrets = await openSecretExchange(options.secrets)
    for (let redirects = 0; ; redirects += 1) {
      const response = await send({ ...hop, ...(await secrets.fill(hop)) }, signal, options)
      const location = response.headers.get('location')
      if (!isRedirect(response.status) || location === null)
        return secrets.redacts ? redacted(response, secrets) : capBody(response)
      await response.body?.cancel()
      if (redirects >= maxRedirects) throw failed(`More than ${maxRedirects} redirects.`)
      hop = await nextHop(hop, { status: response.status, location, secrets }, options)
    }
  }
}

function failed(message: string, transient = false): ToolError {
  return new ToolError('tool_failed', { message, transient })
}

function lateSignal({ sleep, signal }: EgressOptions): AbortSignal {
  const late = new AbortController()
  void sleep(maxRequestMs, signal).then(() =>
    late.abort(failed('The request took too long.', true)),
  )
  return late.signal
}

async function check(
  url: string,
  method: string,
  options: EgressOptions,
  from?: URL,
): Promise<URL> {
  const isOpen = options.grants.some(({ host }) => host === '*')
    ? await options.openNow()
    : () => false
  try {
    return checkEgress({ url, method, ...(from && { from }) }, { ...options, isOpen })
  } catch (error) {
    const host = URL.canParse(url, from?.href) ? new URL(url, from?.href).hostname : ''
    options.emit({ type: 'network_requested', data: { host, method, status: 0, refused: true } })
    throw error
  }
}

async function firstHop(
  target: string,
  init: NonNullable<Parameters<Capabilities['fetch']>[1]>,
  options: EgressOptions,
): Promise<Hop> {
  const method = (init.method ?? 'GET').toUpperCase()
  const url = await check(target, method, options)
  if (init.body !== undefined && typeof init.body !== 'string')
    throw failed('The body must be a string.')
  const isBodyless = method === 'GET' || method === 'HEAD'
  if (isBodyless && init.body !== undefined) throw failed(`${method} has no body.`)
  if (isTooLarge(init.body)) throw failed('The body is larger than 2 MiB.')
  const headers = parseHeaders(init.headers)
  if (!isBodyless && !headers.has('idempotency-key'))
    headers.set('idempotency-key', options.idempotencyKey)
  // One trace for all that a run does. A state of the plugin's own would belong to another one.
  headers.set('traceparent', options.traceparent)
  headers.delete('tracestate')
  return { url, method, headers, body: init.body }
}

function isTooLarge(body = ''): boolean {
  return body.length > maxBodyBytes || new TextEncoder().encode(body).byteLength > maxBodyBytes
}

/** Headers that steer the connection, claim where a request comes from, or make another method of it. */
const hostHeaders =
  /^(host|connection|accept-encoding|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive|via|forwarded|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|x-http-method.*|x-method-override|x-original-url|x-rewrite-url|proxy-.*|sec-.*|cf-.*)$/i

function parseHeaders(given: Readonly<Record<string, string>> = {}): Headers {
  const own = Object.keys(given).find((name) => hostHeaders.test(name))
  if (own !== undefined) throw failed(`The header "${own.slice(0, 64)}" is set by the host.`)
  const lengths = Object.entries(given).map(([name, value]) => name.length + String(value).length)
  if (lengths.length > maxHeaders || lengths.reduce((sum, one) => sum + one, 0) > maxHeaderChars)
    throw failed('A request has at most 64 headers with 32 KiB in all.')
  try {
    return new Headers(given)
  } catch {
    throw failed('A header name or value is not valid.')
  }
}

async function send(hop: Hop, signal: AbortSignal, options: EgressOptions): Promise<Response> {
  const report = (status: number) =>
    options.emit({
      type: 'network_requested',
      data: { host: hop.url.hostname, method: hop.method, status },
    })
  // Reading the secrets took a moment.
  if (signal.aborted) throw failed('The request was aborted.')
  try {
    const { method, headers, body } = hop
    const response = await options.fetch(hop.url.href, {
      method,
      headers,
      redirect: 'manual',
      signal,
      ...(body !== undefined && { body }),
    })
    report(response.status)
    return response
  } catch {
    report(0)
    if (signal.aborted) throw failed('The request was aborted.')
    // The platform's own words may hold addresses: only the host that was asked for is named.
    throw failed(`${hop.url.hostname} could not be reached.`, true)
  }
}

function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308
}

const credentialHeaders =
  /^(authorization|cookie2?|.*(api[-_]?key|token|secret|auth|session|signature).*)$/i

interface Redirect {
  readonly status: number
  readonly location: string
  readonly secrets: SecretExchange
}

/** The fetch standard's redirect rules (4.4, HTTP-redirect fetch); the new place is checked like the first. */
async function nextHop(
  hop: Hop,
  { status, location, secrets }: Redirect,
  options: EgressOptions,
): Promise<Hop> {
  const becomesGet =
    (status <= 302 && hop.method === 'POST') || (status === 303 && hop.method !== 'HEAD')
  const method = becomesGet ? 'GET' : hop.method
  const url = await check(location, method, options, hop.url)
  const isElsewhere = url.origin !== hop.url.origin
  secrets.checkRedirect(location, { isElsewhere })
  const stays = (name: string, value: string): boolean =>
    !(becomesGet && /^content-|^idempotency-key$/.test(name)) &&
    !(isElsewhere && credentialHeaders.test(name)) &&
    !(isElsewhere && !secrets.mayLeave(name, value))
  const headers = new Headers([...hop.headers].filter(([name, value]) => stays(name, value)))
  return { url, method, headers, body: becomesGet ? undefined : hop.body }
}

/** The whole answer, at most 2 MiB of it, without a value in it. A value may lie across two pieces: so it is read first. */
async function redacted(response: Response, secrets: SecretExchange): Promise<Response> {
  const encoding = response.headers.get('content-encoding')?.toLowerCase() ?? 'identity'
  // What the platform does not decode nobody can read for values.
  if (!/^(identity|gzip|br)$/.test(encoding.trim())) {
    await response.body?.cancel()
    throw failed(`The answer is encoded in a way that is not supported: ${encoding.slice(0, 40)}.`)
  }
  const capped = capBody(response)
  const bytes = capped.body === null ? null : await readAll(capped)
  return new Response(bytes && secrets.redactBytes(bytes), {
    status: capped.status,
    statusText: secrets.redactText(capped.statusText),
    headers: secrets.redactHeaders(capped.headers),
  })
}

async function readAll(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw failed('The answer broke off.', true)
  }
}

/** The same response with a body that fails when it passes the cap, however large the server says it is. */
function capBody(response: Response): Response {
  const { status, statusText, body } = response
  if (status < 200 || status > 599)
    throw failed('The server answered in a way that is not supported.')
  const headers = new Headers(response.headers)
  // The bytes below are decoded already.
  headers.delete('content-encoding')
  headers.delete('content-length')
  const hasNoBody = body === null || status === 204 || status === 205 || status === 304
  return new Response(hasNoBody ? null : body.pipeThrough(createByteCap()), {
    status,
    statusText,
    headers,
  })
}

function createByteCap(): TransformStream<Uint8Array, Uint8Array> {
  let sizeBytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > maxBodyBytes) controller.error(failed('The answer is larger than 2 MiB.'))
      else controller.enqueue(chunk)
    },
  })
}
