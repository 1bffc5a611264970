/** So long may a tool's own part of `<server>__<tool>` be. */
const maxChars = 36
const hashChars = 8
/** The two tools that every server has of ours. */
const reserved: ReadonlySet<string> = new Set(['read_resource', 'get_prompt'])
const safeForm = /^[A-Za-z0-9_-]{1,36}$/

/**
 * The name of a remote tool here. A short and plain name stays; any other gets a readable stem and a piece of the
 * hash of the whole name, so that it is the same each time and two never meet.
 */
export function toToolName(remote: string, sha256: (text: string) => string): string {
  if (safeForm.test(remote) && !reserved.has(remote)) return remote
  const stem = remote
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, maxChars - hashChars - 1)
  const tail = sha256(remote).slice(0, hashChars)
  return stem === '' ? `tool_${tail}` : `${stem}_${tail}`
}

/** Two names with one skeleton are easily taken for each other. */
export function skeleton(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\u0400-\u04ff\u0370-\u03ff]/g, (char) => lookAlikes[char] ?? char)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replaceAll('0', 'o')
    .replace(/[1i|]/g, 'l')
    .replaceAll('5', 's')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
}

/** Letters of other alphabets that look like Latin ones. */
const lookAlikes: Readonly<Record<string, string>> = {
  а: 'a', е: 'e', о: 'o', р: 'p', с: 'c', у: 'y', х: 'x', і: 'i', ј: 'j', ѕ: 's', һ: 'h', ԁ: 'd', к: 'k',
  м: 'm', т: 't', в: 'b', н: 'h', α: 'a', ο: 'o', ρ: 'p', ν: 'v', ι: 'i', κ: 'k', τ: 't', υ: 'u', ε: 'e',
} // prettier-ignore
