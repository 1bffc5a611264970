import { IsolaError } from '#contracts/errors.ts'

/**
 * Whether the text of a bundle is the one that was installed: one flipped byte refuses (SECURITY.md T24).
 * @throws `plugin_code_unavailable`
 */
export function checkHash(
  text: string,
  hash: string,
  { sha256 }: { readonly sha256: (text: string) => string },
): void {
  if (sha256(text) === hash) return
  throw new IsolaError(
    'plugin_code_unavailable',
    `what is stored under ${hash.slice(0, 12)} is not what was installed; install it again`,
  )
}

type Parts = readonly [readonly number[], readonly (string | number)[]]

/** `1.2.3-rc.1` in parts that compare (semver.org, 11). */
function toParts(version: string): Parts {
  const [core = '', ...rest] = version.split('-')
  const pre = rest.join('-')
  return [
    core.split('.').map(Number),
    pre === '' ? [] : pre.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
  ]
}

function compareIdentifier(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}

/** Order of two versions: a pre-release comes before its release. */
export function compareVersions(a: string, b: string): number {
  const [coreA, preA] = toParts(a)
  const [coreB, preB] = toParts(b)
  for (const [index, part] of coreA.entries()) {
    const order = part - (coreB[index] ?? 0)
    if (order !== 0) return order
  }
  if (preA.length === 0 || preB.length === 0) return preB.length - preA.length
  for (const [index, part] of preA.entries()) {
    const other = preB[index]
    if (other === undefined) return 1
    const order = compareIdentifier(part, other)
    if (order !== 0) return order
  }
  return preA.length - preB.length
}

/** An older version than the one that is enabled needs the operator's word (T24). */
export const isDowngrade = (from: string, to: string): boolean => compareVersions(to, from) < 0
