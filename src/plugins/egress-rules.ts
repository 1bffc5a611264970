import { ToolError } from '#contracts/plugin.ts'
import type { RequestedGrants, TrustTier } from '#contracts/manifest.ts'
import { closedText, type OutsideAddress } from '#contracts/network-rule.ts'
import { isPublicHost } from './egress-address.ts'

/** What one plugin may reach. */
export interface EgressRules {
  readonly grants: RequestedGrants['network']
  readonly tier: TrustTier
  /** Only then is loopback reachable (the operator turned development mode on). */
  readonly isDevelopment: boolean
  /** Of a grant of every host: whether the operator opened this address to it, or somebody approved this very call. */
  readonly isOpen: (to: OutsideAddress) => boolean
}

/** One request before it is made. `from` is where a redirect came from. */
export interface EgressAttempt {
  readonly url: string
  readonly method: string
  readonly from?: URL
}

/**
 * Decides whether a request may leave, and to which parsed URL.
 *
 * @throws ToolError that says what is refused and, if it is a grant, what to add.
 */
export function checkEgress({ url: text, method, from }: EgressAttempt, rules: EgressRules): URL {
  const url = parseUrl(text, from)
  if (url.username !== '' || url.password !== '')
    throw refused('a URL with a user name or password')
  const isLoopback = rules.isDevelopment && isLoopbackAsWritten(text, url)
  if (isLoopback) {
    // A page out there must not be able to send us to a local server, not even in development.
    if (from && !isLoopbackUrl(from)) throw refused('a redirect from outside to this machine')
  } else {
    if (url.protocol !== 'https:') throw refused(`${url.protocol} (only https is)`)
    if (url.port !== '') throw refused(`port ${url.port} (only 443 is)`)
    if (!isPublicHost(url.hostname)) throw refused('a host that is not public')
  }
  const grant = grantFor(url, method, rules)
  if (!grant) {
    throw new ToolError('tool_failed', {
      message: `not granted: network ${method} ${url.hostname} (add it to grants in plugin.yaml)`,
    })
  }
  const to = { method, url: url.href }
  if (grant.host === '*' && !rules.isOpen(to))
    throw new ToolError('tool_failed', { message: `The request was refused: ${closedText(to)}.` })
  return url
}

/** A URL that the operator named, or that follows from one: any public host over https. Throws what is refused. */
export const checkPublicUrl = (
  url: string,
  { isDevelopment }: Pick<EgressRules, 'isDevelopment'>,
): URL =>
  checkEgress(
    { url, method: 'GET' },
    {
      grants: [{ host: '*', methods: ['GET'] }],
      tier: 'builtin',
      isDevelopment,
      isOpen: () => true,
    },
  )

function refused(what: string): ToolError {
  return new ToolError('tool_failed', {
    message: `The request was refused: ${what} is not allowed.`,
  })
}

function parseUrl(text: string, from: URL | undefined): URL {
  if (typeof text !== 'string' || text.length > 8_192 || !URL.canParse(text, from?.href))
    throw refused('what is not a URL')
  const url = new URL(text, from?.href)
  if (url.protocol === 'https:' || url.protocol === 'http:') return url
  throw refused(`${url.protocol} (only https is)`)
}

const loopbackSpelling =
  /^(?:https?:)?\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?#]|$)/i

/** Loopback must be written as one of three names: 0x7f.1 and its kin stay refused in development too. */
function isLoopbackAsWritten(text: string, url: URL): boolean {
  const isAbsolute = /^\s*([a-z][a-z0-9+.-]*:|[\\/]{2})/i.test(text)
  return loopbackSpelling.test(isAbsolute ? text : url.href)
}

function isLoopbackUrl(url: URL): boolean {
  return loopbackSpelling.test(url.href)
}

/** The grant that covers a request; one that names the host before one of every host. */
function grantFor(url: URL, method: string, { grants, tier }: EgressRules) {
  const covering = grants.filter(({ methods }) => methods.some((granted) => granted === method))
  return (
    covering.find(({ host }) => host !== '*' && host.toLowerCase() === url.hostname) ??
    // `*` means any public host: too wide to be granted to code that did not ship with the deployment.
    covering.find(({ host }) => host === '*' && tier === 'builtin')
  )
}
