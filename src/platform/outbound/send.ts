import {
  type OutboundHop,
  type Redaction,
  OutboundError,
  type Carrier,
  type OutboundReport,
  type OutboundRequest,
  type OutboundRules,
  type Send,
} from '#contracts/outbound.ts'
import { defined } from '#contracts/defined.ts'
import { isReachable, unreachableText } from './types.ts'
import { isOfThisMachine } from '#contracts/destination.ts'
import type { Clock } from '#contracts/sources.ts'
import { checkAddress } from './address.ts'
import { createAnswer } from './answer.ts'
import { startDeadline, type Deadline } from './deadline.ts'
import { sizeText } from './size-text.ts'
import type { WatchedBody } from './watched-body.ts'

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

const becomesGet = (status: number, method: string): boolean =>
  (status <= 302 && method === 'POST') || (status === 303 && method !== 'HEAD')

/** The method after a redirect, as the fetch standard has it (4.4, HTTP-redirect fetch). */
const methodAfter = (status: number, method: string): string =>
  becomesGet(status, method) ? 'GET' : method

const credentialHeaders =
  /^(authorization|cookie2?|.*(api[-_]?key|token|secret|auth|session|signature).*)$/i

/** The request after a redirect. Credentials stay with the origin that they were for. */
function hopAfter(
  hop: OutboundHop,
  to: {
    readonly url: URL
    readonly status: number
    readonly redaction: Redaction | undefined
  },
): OutboundHop {
  const { url, status, redaction } = to
  const isNew = becomesGet(status, hop.method)
  const isElsewhere = url.origin !== hop.url.origin
  const stays = (name: string, value: string): boolean =>
    !(isNew && /^content-|^idempotency-key$/.test(name)) &&
    !(isElsewhere && credentialHeaders.test(name)) &&
    !(isElsewhere && redaction?.mayLeave(name, value) === false)
  return {
    url,
    method: methodAfter(status, hop.method),
    headers: new Headers([...hop.headers].filter(([name, value]) => stays(name, value))),
    body: isNew ? undefined : hop.body,
  }
}

/** The dependencies of every request. */
export interface SendDeps {
  /** Always called with `redirect: 'manual'`. */
  readonly carry: Carrier
  readonly sleep: Clock['sleep']
  /** Only then is loopback reachable. */
  readonly isDevelopment: boolean
  /** Makes the body of a request whose sender wants to know what became of it. Without it that is unknown. */
  readonly watchedBody?: (text: string) => WatchedBody
}

/** One request on its way, from hop to hop. */
interface Sending extends SendDeps {
  readonly rules: OutboundRules
  readonly deadline: Deadline
}

/**
 * The one way to send a request: its address is checked, each redirect is a request of its own and checked like the
 * first, and the answer is counted while it is read. Where no hook has to be asked the request has left when this
 * returns.
 */
export function createSend(deps: SendDeps): Send {
  return async (request, rules) => {
    const { maxBytes, toError = asItIs } = rules
    const { sleep } = deps
    const deadline = startDeadline(rules.timeoutMs, { sleep, signal: request.signal ?? undefined })
    try {
      const arrived = await follow(request, { ...deps, rules, deadline })
      return createAnswer({ ...arrived, maxBytes, deadline, sleep, toError })
    } catch (error) {
      deadline.end()
      throw error instanceof OutboundError ? toError(error) : error
    }
  }
}

const asItIs = (error: OutboundError): Error => error

async function follow(request: OutboundRequest, sending: Sending) {
  const { openRedaction, maxRedirects, maxSentBytes } = sending.rules
  const { method = 'GET', body } = request
  const allowed = allow({ text: request.url, method, from: sending.rules.from }, sending)
  const url = allowed instanceof URL ? allowed : await allowed
  checkSize(body, maxSentBytes)
  let hop: OutboundHop = { url, method, headers: headersOf(request, sending.rules), body }
  const redaction = openRedaction && (await openRedaction())
  for (let redirects = 0; ; redirects += 1) {
    const response = await carryHop(hop, redaction, sending)
    const { status } = response
    const location = response.headers.get('location')
    if (maxRedirects === undefined || !isRedirect(status) || location === null)
      return { response, url: hop.url, redaction }
    await response.body?.cancel()
    if (redirects >= maxRedirects)
      throw new OutboundError('redirects', `More than ${maxRedirects} redirects.`)
    // First: another refusal would name the address, and with it a secret that it may hold.
    redaction?.checkRedirect(location, { isElsewhere: originAt(location, hop) !== hop.url.origin })
    const next = { text: location, method: methodAfter(status, hop.method), from: hop.url }
    const to = await allow(next, sending)
    hop = hopAfter(hop, { url: to, status, redaction })
  }
}

/** Nothing if it is no address. */
const originAt = (location: string, { url }: OutboundHop): string | undefined =>
  URL.canParse(location, url.href) ? new URL(location, url.href).origin : undefined

interface Target {
  readonly text: string
  readonly method: string
  readonly from: URL | undefined
}

/** Applies the rules for all requests, then the caller's own. Reports each refusal. */
function allow({ text, method, from }: Target, sending: Sending): URL | Promise<URL> {
  const { rules, isDevelopment } = sending
  const refuse = (error: unknown): never => {
    const host = URL.canParse(text, from?.href) ? new URL(text, from?.href).hostname : ''
    rules.onHop?.({ host, method, status: 0, refused: true })
    throw error
  }
  try {
    const url = checkAddress(text, { isDevelopment, from, operator: rules.operator })
    if (!rules.check && !rules.openHosts) return url
    return checkHop({ url, method, from }, rules).then(() => url, refuse)
  } catch (error) {
    return refuse(error)
  }
}

async function checkHop(
  hop: Omit<Target, 'text'> & { readonly url: URL },
  { openHosts, check }: OutboundRules,
): Promise<void> {
  const { url, from } = hop
  if (openHosts) {
    const hosts = isOfThisMachine(url.host) ? await openHosts() : []
    if (!isReachable(url, { hosts, from }))
      throw new OutboundError('refused', `The request was refused: ${unreachableText(url)}`)
  }
  await check?.(hop)
}

function checkSize(body: OutboundRequest['body'], maxBytes: number | undefined): void {
  if (maxBytes === undefined || typeof body !== 'string') return
  if (new TextEncoder().encode(body).byteLength > maxBytes)
    throw new OutboundError('sent_too_large', `The body is larger than ${sizeText(maxBytes)}.`)
}

function headersOf(request: OutboundRequest, { idempotencyKey }: OutboundRules): Headers {
  const headers = new Headers(request.headers)
  const mayChange = !['GET', 'HEAD'].includes(request.method ?? 'GET')
  if (idempotencyKey !== undefined && mayChange && !headers.has('idempotency-key'))
    headers.set('idempotency-key', idempotencyKey)
  return headers
}

async function carryHop(
  hop: OutboundHop,
  redaction: Redaction | undefined,
  { carry, deadline, rules, watchedBody }: Sending,
): Promise<Response> {
  const { method } = hop
  const { url, headers } = redaction ? await redaction.fill(hop) : hop
  const report = (status: number): OutboundReport => ({ host: hop.url.hostname, method, status })
  // The hooks took a moment.
  const problem = deadline.problem()
  if (problem) throw problem
  const { signal } = deadline
  const watched =
    rules.watchBody && typeof hop.body === 'string' && hop.body !== ''
      ? watchedBody?.(hop.body)
      : undefined
  rules.watchBody?.(watched?.isTaken ?? (() => true))
  const body = watched?.body ?? hop.body
  const hasBody = body !== undefined && body !== null
  const sent = { method, headers, redirect: 'manual' as const, ...(hasBody && { body }) }
  let carried: Response
  try {
    carried = await deadline.within(carry(url.href, { ...sent, ...defined({ signal }) }))
  } catch (cause) {
    rules.onHop?.(report(0))
    // The platform's own words may hold addresses: only the host that was asked for is named.
    const message = `${hop.url.hostname} could not be reached.`
    throw deadline.problem(cause) ?? new OutboundError('unreachable', message, cause)
  }
  rules.onHop?.(report(carried.status))
  if (carried.status >= 200 && carried.status <= 599) return carried
  void carried.body?.cancel().catch(() => {})
  const message = 'The server answered in a way that is not supported.'
  throw new OutboundError('unsupported', message)
}
