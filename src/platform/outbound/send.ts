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
import { isReachable, unreachableText, isOutside, isPublicHost } from './types.ts'
import { isOfThisMachine } from '#contracts/destination.ts'
import type { Clock } from '#contracts/sources.ts'
import { createAnswer, startDeadline, type Deadline, sizeText, type WatchedBody } from './answer.ts'

/** The facts by which an address is judged. */
interface AddressRules {
  /** Only then is loopback reachable (the operator turned development mode on). */
  readonly isDevelopment: boolean
  /** Where a redirect came from, or the text that named the address. */
  readonly from?: URL | undefined
  /** The address that the operator set, if the request is for one. */
  readonly operator?: string | undefined
}

/**
 * Decides whether a request may leave for an address, and to which parsed URL. Throws `refused`, with what is wrong.
 */
export function checkAddress(text: string, rules: AddressRules): URL {
  const url = parseUrl(text, rules.from)
  const { operator } = rules
  // The very address of the setting: the usual case for model calls.
  if (operator === text || (operator !== undefined && isOfOperator(url, operator))) return url
  if (url.username !== '' || url.password !== '')
    throw refused('a URL with a user name or password')
  if (rules.isDevelopment && isLoopbackAsWritten(text, url)) {
    // A page out there must not be able to send us to a local server, not even in development.
    if (isLedFromOutside(rules)) throw refused('a redirect from outside to this machine')
    return url
  }
  if (url.protocol !== 'https:') throw notHttps(url)
  if (url.port !== '') throw refused(`port ${url.port} (only 443 is)`)
  if (!isPublicHost(url.hostname)) throw refused('a host that is not public')
  return url
}

const refused = (what: string) =>
  new OutboundError('refused', `The request was refused: ${what} is not allowed.`)

const notHttps = ({ protocol }: URL) =>
  new OutboundError(
    'refused',
    `The request was refused: the address begins with ${protocol}, and only https is allowed.`,
  )

function parseUrl(text: string, from: URL | undefined): URL {
  const isText = typeof text === 'string' && text.length <= 8_192
  const url = isText ? URL.parse(text, from?.href) : null
  if (url === null) throw refused('what is not a URL')
  if (url.protocol === 'https:' || url.protocol === 'http:') return url
  throw notHttps(url)
}

/**
 * Whether the operator vouches for an address: the address of the setting, another port of its host, or an address
 * beside it in a network of the operator's own. A setting outside opens no address inside.
 */
function isOfOperator(url: URL, operator: string): boolean {
  const set = new URL(operator)
  if (url.origin === set.origin) return true
  if (url.username !== '' || url.password !== '') return false
  if (url.protocol === 'http:') return isLoopbackUrl(url) && isLoopbackUrl(set)
  return url.hostname === set.hostname || !isPublicHost(set.hostname)
}

/** Whether what led here, or what the operator set, is outside. */
const isLedFromOutside = ({ from, operator }: AddressRules): boolean =>
  isOutside(from) || (operator !== undefined && isOutside(new URL(operator)))

const loopbackSpelling =
  /^(?:https?:)?\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?#]|$)/i

/** Loopback must be written as one of three names: other spellings such as 0x7f.1 stay refused in development too. */
function isLoopbackAsWritten(text: string, url: URL): boolean {
  const isAbsolute = /^\s*([a-z][a-z0-9+.-]*:|[\\/]{2})/i.test(text)
  return loopbackSpelling.test(isAbsolute ? text : url.href)
}

const isLoopbackUrl = ({ host }: URL): boolean => isOfThisMachine(host)

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
  /** The address that an operator set, parsed; it is the same for call after call. */
  readonly ofSetting: (address: string) => URL
  readonly rules: OutboundRules
  readonly deadline: Deadline
}

/**
 * The one way to send a request: its address is checked, each redirect is a request of its own and checked like the
 * first, and the answer is counted while it is read. Where no hook has to be asked the request has left when this
 * returns.
 */
export function createSend(deps: SendDeps): Send {
  let last: { readonly text: string; readonly url: URL } | undefined
  const ofSetting = (text: string): URL =>
    (last = last?.text === text ? last : { text, url: parseUrl(text, undefined) }).url
  return async (request, rules) => {
    const { maxBytes, toError = asItIs } = rules
    const { sleep } = deps
    const deadline = startDeadline(rules.timeoutMs, { sleep, signal: request.signal ?? undefined })
    try {
      const arrived = await follow(request, { ...deps, ofSetting, rules, deadline })
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
  const { rules, isDevelopment, ofSetting } = sending
  const refuse = (error: unknown): never => {
    const host = URL.canParse(text, from?.href) ? new URL(text, from?.href).hostname : ''
    rules.onHop?.({ host, method, status: 0, refused: true })
    throw error
  }
  try {
    const { operator } = rules
    const isSetting = operator === text && from === undefined
    const url = isSetting ? ofSetting(text) : checkAddress(text, { isDevelopment, from, operator })
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
