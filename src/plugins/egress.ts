import { ToolError, type Capabilities } from '#contracts/plugin.ts'
import type { Emit } from '#contracts/session.ts'
import { checkEgress, type EgressRules } from './egress-rules.ts'

const maxRedirects = 5
const maxBodyBytes = 2 * 1024 * 1024

/** The platform's fetch, injected. Always called with `redirect: 'manual'`. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

export interface EgressOptions extends EgressRules {
  readonly fetch: FetchFunction
  readonly emit: Emit
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
 * checked again, at most 2 MiB of body. Each request is an event.
 * @see DESIGN.md section 8, Egress
 */
export function createEgress(options: EgressOptions): Capabilities['fetch'] {
  return async (target, init = {}) => {
    const signal = init.signal ? AbortSignal.any([init.signal, options.signal]) : options.signal
    let hop = firstHop(target, init, options)
    for (let redirects = 0; ; redirects += 1) {
      const response = await send(hop, signal, options)
      const location = response.headers.get('location')
      if (!isRedirect(response.status) || location === null) return capBody(response)
      await response.body?.cancel()
      if (redirects >= maxRedirects) throw failed(`More than ${maxRedirects} redirects.`)
      hop = nextHop(hop, response.status, location, options)
    }
  }
}

function failed(message: string, transient = false): ToolError {
  return new ToolError('tool_failed', { message, transient })
}

function check(url: string, method: string, options: EgressOptions, from?: URL): URL {
  try {
    return checkEgress({ url, method, ...(from && { from }) }, options)
  } catch (error) {
    const host = URL.canParse(url, from?.href) ? new URL(url, from?.href).hostname : ''
    options.emit({ type: 'network_requested', data: { host, method, status: 0, refused: true } })
    throw error
  }
}

function firstHop(
  target: string,
  init: NonNullable<Parameters<Capabilities['fetch']>[1]>,
  options: EgressOptions,
): Hop {
  const method = (init.method ?? 'GET').toUpperCase()
  const url = check(target, method, options)
  if (init.body !== undefined && typeof init.body !== 'string')
    throw failed('The body must be a string.')
  const isBodyless = method === 'GET' || method === 'HEAD'
  if (isBodyless && init.body !== undefined) throw failed(`${method} has no body.`)
  const headers = parseHeaders(init.headers)
  if (!isBodyless && !headers.has('idempotency-key'))
    headers.set('idempotency-key', options.idempotencyKey)
  // One trace for all that a run does. A state of the plugin's own would belong to another one.
  headers.set('traceparent', options.traceparent)
  headers.delete('tracestate')
  return { url, method, headers, body: init.body }
}

/** Headers that steer the connection or claim where a request comes from. */
const hostHeaders =
  /^(host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive|via|forwarded|x-forwarded-.*|x-real-ip|proxy-.*|sec-.*|cf-.*)$/i

function parseHeaders(given: Readonly<Record<string, string>> = {}): Headers {
  const own = Object.keys(given).find((name) => hostHeaders.test(name))
  if (own !== undefined) throw failed(`The header "${own.slice(0, 64)}" is set by the host.`)
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

/** The fetch standard's redirect rules (4.4, HTTP-redirect fetch); the new place is checked like the first. */
function nextHop(hop: Hop, status: number, location: string, options: EgressOptions): Hop {
  const becomesGet =
    (status <= 302 && hop.method === 'POST') || (status === 303 && hop.method !== 'HEAD')
  const method = becomesGet ? 'GET' : hop.method
  const url = check(location, method, options, hop.url)
  const stays = (name: string): boolean =>
    !(becomesGet && /^content-|^idempotency-key$/.test(name)) &&
    !(url.origin !== hop.url.origin && credentialHeaders.test(name))
  const headers = new Headers([...hop.headers].filter(([name]) => stays(name)))
  return { url, method, headers, body: becomesGet ? undefined : hop.body }
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
