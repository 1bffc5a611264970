import { isOfThisMachine } from '#contracts/destination.ts'
import type { OutboundReport } from '#contracts/outbound.ts'

/** Whether an address that this one leads to comes from outside: nothing outside may lead to this machine. */
export const isOutside = (from: URL | undefined): boolean =>
  from !== undefined && !isOfThisMachine(from.host)

/**
 * Which hosts a request from outside may not reach: everything that is not a public name or a public address.
 *
 * Works on a hostname as the URL parser writes it: IPv4 in dotted form whatever it was typed as (decimal, octal,
 * hex, short), IPv6 compressed in brackets, names in lower-case punycode. Names are not resolved: a Worker has no
 * resolver, and the platform's own network does not reach private addresses.
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 sibling
 * @see https://www.iana.org/assignments/special-use-domain-names
 */
export function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return isPublicIpv6(hostname.slice(1, -1))
  const ipv4 = parseIpv4(hostname)
  return ipv4 === undefined ? isPublicName(hostname) : isPublicIpv4(ipv4)
}

const blockedIpv4: readonly (readonly [address: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Azure: the address at which a machine there reads facts about itself.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

function parseIpv4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (!match) return undefined
  return match.slice(1).reduce((sum, part) => sum * 256 + Number(part), 0)
}

function isPublicIpv4(address: number): boolean {
  return !blockedIpv4.some(([block, prefix]) => {
    const size = 2 ** (32 - prefix)
    return Math.floor(address / size) === Math.floor((parseIpv4(block) ?? 0) / size)
  })
}

/**
 * Only 2000::/3 is public; that alone leaves out loopback, mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96), unique
 * local, link-local and multicast. Inside it, addresses that embed another address or are reserved are refused as
 * well.
 */
function isPublicIpv6(text: string): boolean {
  const groups = parseIpv6(text)
  if (groups === undefined) return false
  const [first, second, third] = [groups[0] ?? 0, groups[1] ?? 0, groups[2] ?? 0]
  if (first < 0x2000 || first > 0x3fff) return false
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return false // protocol assignments (Teredo), examples
  if (first === 0x2002) return false // 6to4 embeds an IPv4 address
  if (first === 0x2620 && second === 0x4f && third === 0x8000) return false // answers for private addresses (AS112)
  return !(first === 0x3fff && second < 0x1000) // examples
}

function parseIpv6(text: string): readonly number[] | undefined {
  const [head = '', tail, ...rest] = text.split('::')
  if (rest.length > 0) return undefined
  const left = parseGroups(head)
  const right = tail === undefined ? [] : parseGroups(tail)
  const gap = 8 - left.length - right.length
  if (tail === undefined ? gap !== 0 : gap < 1) return undefined
  const groups = [...left, ...Array.from({ length: gap }, () => 0), ...right]
  return groups.every((group) => Number.isInteger(group) && group >= 0 && group <= 0xffff)
    ? groups
    : undefined
}

function parseGroups(text: string): readonly number[] {
  return text === ''
    ? []
    : text
        .split(':')
        .map((group) => (/^[0-9a-f]{1,4}$/i.test(group) ? Number.parseInt(group, 16) : Number.NaN))
}

/**
 * Names for this machine or this network, names at which clouds serve facts about a machine, and public names that
 * can resolve to any address.
 */
const blockedSuffixes = [
  // Special-use names of the registry, or names that no owner can register.
  'localhost',
  'local',
  'internal',
  'arpa',
  'onion',
  'alt',
  'test',
  'invalid',
  'home',
  'corp',
  'mail',
  // Names that routers, offices and clusters use inside. Kubernetes: `<service>.<namespace>.svc`, or without `svc`.
  'localdomain',
  'domain',
  'workgroup',
  'intranet',
  'intra',
  'lan',
  'private',
  'router',
  'svc',
  'cluster',
  'default',
  'consul',
  'docker',
  'mesos',
  'swarm',
  'i2p',
  // In the open by their names: their addresses are not.
  'metadata.goog',
  'metadata.tencentyun.com',
  'metadata.cloud.ibm.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'nip.io',
  'sslip.io',
  'xip.io',
  'xip.name',
  'ip6.name',
  'localtest.me',
  'lvh.me',
  'vcap.me',
  'fuf.me',
  'traefik.me',
  'lacolhost.com',
  'localho.st',
  'local-ip.co',
  'local-ip.sh',
  'local.gd',
  'backname.io',
  'plex.direct',
  'rbndr.us',
  '1u.ms',
]

function isPublicName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  // A last label that is no word is no public one; a last label of digits is an address that the URL parser did not
  // take for one.
  if (!/^([a-z0-9_-]+\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/.test(name)) return false
  return !blockedSuffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`))
}

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

/** The limit of one image: as base64 it has to fit the row of its message. */
export const maxImageBytes = 1024 * 1024

/**
 * Fetches a picture from a public address: at most 1 MiB within 15 seconds, PNG, JPEG, GIF or WebP by its bytes.
 *
 * @param options.maxBytes A lower limit: a larger image is not read to its end (`too_large`).
 * @param options.onHop Called for each host that is asked, or refused.
 * @returns A data URL. Rejects with an error whose message may be shown to the principal that gave the address.
 */
export type ReadImage = (
  url: string,
  options?: {
    readonly signal?: AbortSignal
    readonly maxBytes?: number
    readonly onHop?: (report: OutboundReport) => void
  },
) => Promise<string>
