import { resourcePaths } from '../types/oauth.ts'

/** Under which names this deployment is reached. */
export interface OriginOptions {
  /** Hosts of the deployment besides its workers.dev one, in lower case. */
  readonly hosts: readonly string[]
  readonly isDevelopment: boolean
}

/** Where this deployment is, as `scheme://host`; `undefined` for a host that is not among ours. */
export type OriginOf = (url: string) => string | undefined

/**
 * Issuer and resources are named after the address a request came to, so that one deployment works at each of its
 * hosts. Only at those: a name that anybody may send must not become one that tokens are made for. Cloudflare routes
 * no host to a Worker that is not its own, a server on a developer's machine takes any.
 */
export function createOriginOf({ hosts, isDevelopment }: OriginOptions): OriginOf {
  return (url) => {
    const { protocol, hostname, port, origin } = new URL(url)
    if (isDevelopment && isLoopback(hostname)) return origin
    const isOurs = hosts.includes(hostname) || (!isDevelopment && hostname.endsWith('.workers.dev'))
    return isOurs && protocol === 'https:' && port === '' ? origin : undefined
  }
}

/** What a request to this address needs a token for; `undefined` where none is taken. */
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

/** Whether a form was sent from a page of ours. A browser says so; what says nothing is refused by the handle's cookie. */
export function isFromOurPage(headers: Headers, origin: string): boolean {
  const sent = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  return (sent === null || sent === origin) && (site === null || site === 'same-origin')
}
