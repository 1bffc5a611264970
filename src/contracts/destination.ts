/** Whether a host, of a URL or of a rule, is this machine. */
export const isOfThisMachine = (host: string): boolean =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host)

// prettier-ignore

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

/**
 * Where a call goes that can reach no other place than those an operator named: the hosts of its plugin's grants, or a
 * server that was registered.
 */
export interface NamedPlace {
  /**
   * The source of its results in labels (`crm__*`). Absent where there are several sources, or where results may
   * repeat the input.
   */
  readonly home?: string
  /** Of a server: another server may be registered under its name. */
  readonly origin?: string
}

/** Where a call goes: to the address in its input, or where it always goes. */
export type Destination = OutsideAddress | NamedPlace
