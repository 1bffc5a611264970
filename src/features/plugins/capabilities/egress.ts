import type { RequestedGrants, TrustTier } from '#contracts/manifest/manifest.ts'
import { closedText } from '#features/policy/types/network-rule.ts'
import { type OutsideAddress } from '#contracts/network-rule.ts'
import type { OutboundError, OutboundRules, Send } from '#contracts/outbound.ts'
import { ToolError, type Capabilities } from '#contracts/plugin.ts'
import { capped } from '#runtime/kernel/types/visible-text.ts'
import type { Emit } from '../types/event.ts'
import type { CallSecrets } from '../secrets/call-secrets.ts'
import { openSecretExchange } from '../secrets/secret-exchange.ts'

const maxRedirects = 5
const maxBodyBytes = 2 * 1024 * 1024
const maxShownChars = 1_000
const maxHeaders = 64
const maxHeaderChars = 32 * 1024
/** From the request to the end of the answer, redirects included. */
const maxRequestMs = 300_000

/** Of a grant of every host: whether the operator opened an address to it, or somebody approved this very call. */
export type IsOpen = (to: OutsideAddress) => boolean

/** The grants, the network and the secrets of one call. */
export interface EgressOptions {
  readonly grants: RequestedGrants['network']
  readonly tier: TrustTier
  /** Which addresses are open to a grant of every host, as of now: asked before each hop. */
  readonly openNow: () => Promise<IsOpen>
  /** Whether a redirect to another host is followed, of a grant of every host. */
  readonly mayFollow: (to: OutsideAddress, from: URL) => Promise<boolean>
  /** Hears the host that a redirect leads to, once it may be asked and before it is. */
  readonly onRedirect?: ((host: string) => void) | undefined
  readonly send: Send
  readonly emit: Emit
  readonly secrets: CallSecrets
  readonly idempotencyKey: string
  /** The call as the span that each request comes from. */
  readonly traceparent: string
  /** Fires when the call is over. */
  readonly signal: AbortSignal
}

/**
 * A fetch that reaches the granted hosts only: exact host and method, each redirect checked again, at most 2 MiB of
 * body each way. A placeholder becomes its secret on the way out, and a secret that comes back is taken out. Each
 * request is an event.
 * @see docs/design.md section 8, Egress
 */
export function createEgress(options: EgressOptions): Capabilities['fetch'] {
  const { send, emit, secrets, idempotencyKey } = options
  const rules: OutboundRules = {
    check: (hop) => checkGrant(hop, options),
    maxRedirects,
    maxSentBytes: maxBodyBytes,
    maxBytes: maxBodyBytes,
    timeoutMs: maxRequestMs,
    idempotencyKey,
    openRedaction: () => openSecretExchange(secrets),
    onHop: (data) => emit({ type: 'network_requested', data: { ...data } }),
    toError,
  }
  return async (target, init = {}) => {
    const method = (init.method ?? 'GET').toUpperCase()
    if (init.body !== undefined && typeof init.body !== 'string')
      throw failed('The body must be a string.')
    if (['GET', 'HEAD'].includes(method) && init.body !== undefined)
      throw failed(`${method} has no body.`)
    const headers = parseHeaders(init.headers)
    // One trace for all that a run does. A state of the plugin's own would belong to another one.
    headers.set('traceparent', options.traceparent)
    headers.delete('tracestate')
    const signal = init.signal ? AbortSignal.any([options.signal, init.signal]) : options.signal
    const sent = { url: target, method, headers, signal, body: init.body }
    return (await send(sent, rules)).toResponse()
  }
}

function failed(message: string, transient = false): ToolError {
  return new ToolError('tool_failed', { message, transient })
}

function toError({ failure, message }: OutboundError): ToolError {
  if (failure === 'late') return failed('The request was aborted.')
  return failed(message, failure === 'unreachable' || failure === 'broken_off')
}

type Checked = Parameters<NonNullable<OutboundRules['check']>>[0]

/** Refuses what no grant covers, with what to add, and of a grant of every host what nobody opened. */
async function checkGrant({ url, method, from }: Checked, options: EgressOptions): Promise<void> {
  const grant = grantFor(url, method, options)
  if (!grant)
    throw failed(`not granted: network ${method} ${url.host} (add it to grants in plugin.yaml)`)
  if (grant.host === '*') await checkOpen({ url, method, from }, options)
  // What is refused is not read: as a source it would be a place that may be called unasked.
  if (from) options.onRedirect?.(url.host)
}

async function checkOpen({ url, method, from }: Checked, options: EgressOptions): Promise<void> {
  const to = { method, url: url.href }
  const isOpen = await options.openNow()
  if (!isOpen(to)) throw failed(`The request was refused: ${closedText(to)}.`)
  if (from && !(await options.mayFollow(to, from)))
    throw failed(`The page is elsewhere: ${capped(url.href, maxShownChars)} (call that address).`)
}

/** The grant that covers a request; one that names the host before one of every host. */
function grantFor(url: URL, method: string, { grants, tier }: EgressOptions) {
  const covering = grants.filter(({ methods }) => methods.some((granted) => granted === method))
  return (
    // With its port, which only an address of this machine may have: another port is another program.
    covering.find(({ host }) => host !== '*' && host.toLowerCase() === url.host) ??
    // `*` means any public host: too wide to be granted to code that did not ship with the deployment.
    covering.find(({ host }) => host === '*' && tier === 'builtin')
  )
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
