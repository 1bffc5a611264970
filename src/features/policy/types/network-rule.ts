import type { NetworkRule } from '#runtime/catalog/types/network-rule.ts'
import type { OutsideAddress } from '#contracts/network-rule.ts'
import { capped } from '#runtime/kernel/types/visible-text.ts'
import { openHost } from '#runtime/kernel/types/network-rule.ts'

/** Those that are there by name, or a name above theirs: that every host is open names none. */
export const namedHosts = ({ hosts }: Pick<NetworkRule, 'hosts'>): readonly string[] =>
  hosts.filter((host) => host !== '*')

/**
 * Why a request to another host is refused. Without its path: that of a redirect is a stranger's. So is the host, which
 * may have signs of a shell in it, or a star: a command is named only with one that is a name and nothing else.
 */
export function closedText({ method, url: text }: OutsideAddress): string {
  const { host } = new URL(text)
  const shown = capped(host, 253)
  const closed = `${method} at ${shown}, a host that this deployment has not allowed`
  return !host.includes('*') && openHost.safeParse(host).success
    ? `${closed} (an operator allows it: isola http allow ${shown})`
    : `${closed}; it cannot be allowed either, since it is no public name or has a port`
}

const maxAddressChars = 1_000

/** What a person is shown of a call to another host, and a model reads that cannot ask anybody. */
export function closedAddressText(to: OutsideAddress): string {
  // As the parser writes it: nothing in it hides or moves, since all but ASCII is written in ASCII.
  const { href } = new URL(to.url)
  const what = href.length > maxAddressChars ? 'The address begins' : 'The whole address'
  return `${closedText(to)}. ${what}: ${capped(href, maxAddressChars)}`
}
