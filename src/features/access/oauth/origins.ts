import { resourcePaths } from '../types/oauth.ts'

/** The host names of this deployment. */
interface OriginOptions {
  /** Hosts of the deployment besides its workers.dev one, in lower case. */
  readonly hosts: readonly string[]
  readonly isDevelopment: boolean
}

/** The deployment's own address of a request, as `scheme://host`; `undefined` for a foreign host. */
export type OriginOf = (url: string) => string | undefined

/**
 * Issuer and resources are named after the address of the request, so that one deployment works at each of its hosts.
 * Only at its own hosts: a client may send any host name, and tokens must not be issued for it. Cloudflare routes no
 * foreign host to a Worker; a server on a developer's machine accepts any.
 */
export function createOriginOf({ hosts, isDevelopment }: OriginOptions): OriginOf {
  return (url) => {
    const { protocol, hostname, port, origin } = new URL(url)
    if (isDevelopment && isLoopback(hostname)) return origin
    const isOurs = hosts.includes(hostname) || (!isDevelopment && hostname.endsWith('.workers.dev'))
    return isOurs && protocol === 'https:' && port === '' ? origin : undefined
  }
}

/** The resource that a token for this address must be for; `undefined` where tokens are not accepted. */
export function resourceOf(originOf: OriginOf, url: string): string | undefined {
  const origin = originOf(url)
  const { pathname } = new URL(url)
  const path = resourcePaths.find((one) => pathname === one || pathname.startsWith(`${one}/`))
  return origin !== undefined && path !== undefined ? origin + path : undefined
}

/** Whether a host name means the machine itself. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/**
 * Whether a form was sent from a page of this deployment. A browser says so in these headers; without them the
 * handle's cookie decides.
 */
export function isFromOurPage(headers: Headers, origin: string): boolean {
  const sent = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  return (sent === null || sent === origin) && (site === null || site === 'same-origin')
}
