import { isPublicHost, isOutside } from './public-host.ts'
import { isOfThisMachine } from '#contracts/public-host.ts'

/**
 * Whether an address may be asked that a caller named, or a text that was fetched: it is at a public host, or at one of
 * this machine that an operator opened, to which nothing outside leads.
 *
 * @param led.hosts What the operator opened.
 * @param led.from Where a redirect came from.
 */
export const isReachable = (
  { host, hostname }: URL,
  { hosts, from }: { readonly hosts: readonly string[]; readonly from?: URL | undefined },
): boolean => isPublicHost(hostname) || (hosts.includes(host) && !isOutside(from))

/** Why such an address is refused, the same whether something answers there or not. */
export const unreachableText = (url: URL): string =>
  isOfThisMachine(url.host)
    ? 'an address of this machine that no operator opened (isola http allow <host>:<port>) is not allowed.'
    : 'a host that is not public is not allowed.'
