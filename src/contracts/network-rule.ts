import { isOfThisMachine } from './public-host.ts'

/** Where a call goes that reads whatever address it is given. */
export interface OutsideAddress {
  readonly method: string
  readonly url: string
}

/**
 * Whether an address is open to them.
 *
 * @param own Hosts and ports at which a server in development itself answers; it may be read, and nothing else.
 */
export function isOpen(
  { method, url: text }: OutsideAddress,
  { hosts }: { readonly hosts: readonly string[] },
  own: readonly string[],
): boolean {
  const { host } = new URL(text)
  if (hosts.includes(host) || (method === 'GET' && own.includes(host))) return true
  if (isOfThisMachine(host)) return false
  return hosts.some((one) => one === '*' || (one.startsWith('*.') && host.endsWith(one.slice(1))))
}
