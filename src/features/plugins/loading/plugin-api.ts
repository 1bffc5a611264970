import { IsolaError } from '#contracts/errors.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { pluginApiVersion } from '#contracts/plugin.ts'
import { isInRange } from './version-range.ts'

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
    return `api: "${api}" leaves out plugin API ${current}, which runs here. What was written for ${old} still works, but will not for long: change the range to ">=${old} <${nextMajor(current)}" and test it.`
  throw new IsolaError(
    'plugin_contract_mismatch',
    `api: written for "${api}"; this is plugin API ${current}`,
    { param: 'api' },
  )
}

const nextMajor = (version: string): string => `${Number(version.split('.')[0]) + 1}.0`
