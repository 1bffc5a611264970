import { IsolaError } from '#contracts/errors.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { pluginApiVersion } from '#features/plugins/types/plugin.ts'

type Version = readonly [number, number, number]

interface Comparator {
  readonly operator: string
  readonly bound: Version
  /** How many parts the version was written with: `1.2` has two. */
  readonly parts: number
}

/**
 * Whether a version lies in a range: comparators joined by blanks (`>=1.0 <2.0`), `^1.2`, `~1.2`, `1.x`, `1.2.3` or
 * `*`.
 *
 * @returns `undefined` if the range has none of these forms.
 */
export function isInRange(version: string, range: string): boolean | undefined {
  const asked = range.trim()
  if (asked === '*') return true
  const comparators = asked
    .replace(/([<>=^~])\s+/g, '$1')
    .split(/\s+/)
    .map(parseComparator)
  const actual = parseVersion(version)
  if (actual === undefined) return undefined
  let isInside = true
  for (const comparator of comparators) {
    if (comparator === undefined) return undefined
    isInside &&= satisfies(actual, comparator)
  }
  return isInside
}

function parseVersion(text: string): Version | undefined {
  const match = /^(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(text)
  return match ? [Number(match[1]), Number(match[2] ?? 0), Number(match[3] ?? 0)] : undefined
}

function parseComparator(text: string): Comparator | undefined {
  const match = /^(>=|<=|>|<|=|\^|~)?(\d+(?:\.(?:\d+|[x*])){0,2})$/.exec(text)
  const written = match?.[2]?.replace(/(?<!\.[x*])(?:\.[x*])+$/, '')
  const bound = written === undefined ? undefined : parseVersion(written)
  if (written === undefined || bound === undefined) return undefined
  return { operator: match?.[1] ?? '=', bound, parts: written.split('.').length }
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

function satisfies(actual: Version, { operator, bound, parts }: Comparator): boolean {
  const order = compare(actual, bound)
  if (operator === '>=') return order >= 0
  if (operator === '>') return order > 0
  if (operator === '<=') return order <= 0
  if (operator === '<') return order < 0
  return order >= 0 && compare(actual, upperBound(operator, bound, parts)) < 0
}

/** The first version that is too new for a caret, tilde or exact comparator. */
function upperBound(operator: string, [major, minor, patch]: Version, parts: number): Version {
  const fixed =
    operator === '^'
      ? caretParts(major, minor, parts)
      : operator === '~'
        ? Math.min(parts, 2)
        : parts
  if (fixed === 1) return [major + 1, 0, 0]
  return fixed === 2 ? [major, minor + 1, 0] : [major, minor, patch + 1]
}

/** A caret fixes everything up to the first part that is not zero. */
function caretParts(major: number, minor: number, parts: number): number {
  if (major > 0 || parts === 1) return 1
  return minor > 0 || parts === 2 ? 2 : 3
}

/**
 * Older API versions whose plugins still run with this version, newest first: all earlier minors. A plugin for one of
 * them works until the next major.
 */
export function olderVersions(current: string): readonly string[] {
  const [major, minor] = current.split('.').map(Number) as [number, number]
  return Array.from({ length: minor }, (_none, at) => `${major}.${minor - 1 - at}.0`)
}

/**
 * Checks whether this version of the plugin API is in the range that a plugin was written for (P26).
 *
 * @returns A warning if the range contains only deprecated versions; `undefined` if all is well.
 * @throws `plugin_manifest_invalid` for an invalid range, `plugin_contract_mismatch` for another API.
 */
export function checkApi(
  { api }: Pick<Manifest, 'api'>,
  current: string = pluginApiVersion,
): string | undefined {
  const isCurrent = isInRange(current, api)
  if (isCurrent === undefined) {
    throw new IsolaError(
      'plugin_manifest_invalid',
      `api: "${api}" is not a version range such as ">=1.0 <2.0"`,
      { param: 'api' },
    )
  }
  if (isCurrent) return undefined
  const old = olderVersions(current).find((version) => isInRange(version, api))
  if (old !== undefined)
    return (
      `api: "${api}" leaves out plugin API ${current}, which runs here. What was written for ${old} ` +
      `still works, but will not for long: change the range to ">=${old} <${nextMajor(current)}" and test it.`
    )
  throw new IsolaError(
    'plugin_contract_mismatch',
    `api: written for "${api}"; this is plugin API ${current}`,
    { param: 'api' },
  )
}

const nextMajor = (version: string): string => `${Number(version.split('.')[0]) + 1}.0`
