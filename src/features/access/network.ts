const maxChars = 64

/**
 * Where a request comes from, as far as it can be told apart: an IPv4 address, or the /64 network of an IPv6 address,
 * since a single line has that many addresses. Whatever names none is one place.
 */
export function networkOf(address: string | undefined): string {
  const text = (address ?? '').trim().toLowerCase().slice(0, maxChars)
  if (text === '') return 'unknown'
  return text.includes(':') ? `${networkGroups(text).join(':')}::/64` : text
}

/** The first four groups; `::` stands for as many zeros as are missing to eight. */
function networkGroups(text: string): readonly string[] {
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => part.split(':').filter((group) => group !== '')
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
}
