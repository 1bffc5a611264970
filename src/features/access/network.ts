const maxChars = 64

/**
 * The network of a request: an IPv4 address, or the /64 of an IPv6 address, since a single line has that many
 * addresses. All requests without an address count as one network.
 */
export function networkOf(address: string | undefined): string {
  const text = (address ?? '').trim().toLowerCase().slice(0, maxChars)
  if (text === '') return 'unknown'
  return text.includes(':') ? `${networkGroups(text).join(':')}::/64` : text
}

/** The first four groups; `::` stands for as many zero groups as are missing to eight. */
function networkGroups(text: string): readonly string[] {
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => part.split(':').filter((group) => group !== '')
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
}
