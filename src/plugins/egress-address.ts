/**
 * Which hosts are nobody's business: everything that is not a public name or a public address.
 *
 * Works on a hostname as the URL parser writes it: IPv4 in dotted form whatever it was typed as (decimal, octal,
 * hex, short), IPv6 compressed in brackets, names in lower-case punycode. Names are not resolved: a Worker has no
 * resolver, and the platform's own network does not reach private addresses.
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 sibling
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
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
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
 * local, link-local and multicast. Inside it, what embeds another address or is reserved is refused as well.
 */
function isPublicIpv6(text: string): boolean {
  const groups = parseIpv6(text)
  if (groups === undefined) return false
  const [first, second] = [groups[0] ?? 0, groups[1] ?? 0]
  if (first < 0x2000 || first > 0x3fff) return false
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return false // protocol assignments (Teredo), examples
  if (first === 0x2002) return false // 6to4 embeds an IPv4 address
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

/** Names that mean this machine or this network, and public names made to answer with any address. */
const blockedSuffixes = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
  'in-addr.arpa',
  'ip6.arpa',
  'onion',
  'test',
  'invalid',
  'nip.io',
  'sslip.io',
  'xip.io',
  'localtest.me',
  'lvh.me',
  'vcap.me',
]

function isPublicName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  if (!name.includes('.') || !/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name)) return false
  // A last label of digits is an address that the URL parser did not take for one.
  if (/(^|\.)(\d+|0x[0-9a-f]*)$/.test(name)) return false
  return !blockedSuffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`))
}
