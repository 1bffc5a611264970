import type { RequestedGrants, TrustTier } from '#contracts/manifest/manifest.ts'
import { closedText } from '#features/policy/types.ts'
import type { OutsideAddress } from '#contracts/destination.ts'
import type { OutboundError, OutboundRules, Send } from '#contracts/outbound.ts'
import { ToolError, type Capabilities } from '#features/plugins/types/plugin.ts'
import { capped } from '#runtime/kernel/types/network-rule.ts'
import type { CallSecrets } from '../secrets/call-secrets.ts'
import { openSecretExchange } from '../secrets/secret-exchange.ts'
import type { EventDraft } from '#contracts/event.ts'
import { failed } from '../types/plugin-output.ts'

type Emit = (event: EventDraft) => void

const maxRedirects = 5
const maxBodyBytes = 2 * 1024 * 1024
const maxShownChars = 1_000
const maxHeaders = 64
const maxHeaderChars = 32 * 1024
/** From the request to the end of the answer, redirects included. */
const maxRequestMs = 300_000

/** For a grant of every host: whether the operator opened an address, or an approver allowed it for this very call. */
export type IsOpen = (to: OutsideAddress) => boolean

/** The grants, the network and the secrets of one call. */
export interface EgressOptions {
  readonly grants: RequestedGrants['network']
  readonly tier: TrustTier
  /** The addresses that are open now to a grant of every host; asked before each hop. */
  readonly openNow: () => Promise<IsOpen>
  /** For a grant of every host: whether a redirect to another host is followed. */
  readonly mayFollow: (to: OutsideAddress, from: URL) => Promise<boolean>
  /** Called with the host of a redirect, after its check and before the request. */
  readonly onRedirect?: ((host: string) => void) | undefined
  readonly send: Send
  readonly emit: Emit
  readonly secrets: CallSecrets
  readonly idempotencyKey: string
  /** Trace header with the call as the parent span of each request. */
  readonly traceparent: string
  /** Fires when the call is over. */
  readonly signal: AbortSignal
}

/**
 * A fetch that reaches granted hosts only: exact host and method, each redirect checked again, at most 2 MiB of body
 * each way. A placeholder becomes its secret on the way out, and a secret in an answer is redacted. Each request is
 * an event.
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
    // All of a run's work belongs to one trace. A `tracestate` from the plugin would belong to another one.
    headers.set('traceparent', options.traceparent)
    headers.delete('tracestate')
    const signal = init.signal ? AbortSignal.any([options.signal, init.signal]) : options.signal
    const sent = { url: target, method, headers, signal, body: init.body }
    return (await send(sent, rules)).toResponse()
  }
}

function toError({ failure, message }: OutboundError): ToolError {
  if (failure === 'late') return failed('The request was aborted.')
  return failed(message, failure === 'unreachable' || failure === 'broken_off')
}

type Checked = Parameters<NonNullable<OutboundRules['check']>>[0]

/**
 * Refuses a request without a grant, and says which one to add. Under a grant of every host, also refuses a host that
 * is not open.
 */
async function checkGrant({ url, method, from }: Checked, options: EgressOptions): Promise<void> {
  const grant = grantFor(url, method, options)
  if (!grant)
    throw failed(`not granted: network ${method} ${url.host} (add it to grants in plugin.yaml)`)
  if (grant.host === '*') await checkOpen({ url, method, from }, options)
  // Only after the check: a refused host was not read, so it must not become a source that later calls may reach
  // unasked.
  if (from) options.onRedirect?.(url.host)
}

async function checkOpen({ url, method, from }: Checked, options: EgressOptions): Promise<void> {
  const to = { method, url: url.href }
  const isOpen = await options.openNow()
  if (!isOpen(to)) throw failed(`The request was refused: ${closedText(to)}.`)
  if (from && !(await options.mayFollow(to, from)))
    throw failed(`The page is elsewhere: ${capped(url.href, maxShownChars)} (call that address).`)
}

/** The grant that covers a request; a grant of the named host comes before a grant of every host. */
function grantFor(url: URL, method: string, { grants, tier }: EgressOptions) {
  const covering = grants.filter(({ methods }) => methods.some((granted) => granted === method))
  return (
    // The host includes a port, which only an address of this machine may have: another port is another program.
    covering.find(({ host }) => host !== '*' && host.toLowerCase() === url.host) ??
    // `*` means any public host: too wide a grant for code that did not ship with the deployment.
    covering.find(({ host }) => host === '*' && tier === 'builtin')
  )
}

/** Headers that steer the connection, claim where a request comes from, or change its method. */
const hostHeaders = new RegExp(
  '^(host|connection|accept-encoding|content-length|transfer-encoding|upgrade|expect|te|trailer|' +
    'keep-alive|via|forwarded|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|x-http-method.*|' +
    'x-method-override|x-original-url|x-rewrite-url|proxy-.*|sec-.*|cf-.*)$',
  'i',
)

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
