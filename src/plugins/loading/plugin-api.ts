import { IsolaError } from '#contracts/errors.ts'
import type { Manifest } from '#contracts/manifest.ts'
import { pluginApiVersion } from '#contracts/plugin.ts'
import { isInRange } from './version-range.ts'

/** Older versions whose plugins still run here. A version leaves this list one minor version after its warning. */
const deprecatedVersions: readonly string[] = ['1.2.0', '1.1.0', '1.0.0']

/**
 * Whether the plugin API of this version is one that a plugin was written for (P26).
 *
 * @returns A warning if it names only versions that will end; nothing if all is well.
 * @throws `plugin_manifest_invalid` for a range that is none, `plugin_contract_mismatch` for another API.
 */
export function checkApi(
  { api }: Pick<Manifest, 'api'>,
  served: { readonly current: string; readonly deprecated: readonly string[] } = {
    current: pluginApiVersion,
    deprecated: deprecatedVersions,
  },
): string | undefined {
  const { current, deprecated } = served
  const isCurrent = isInRange(current, api)
  if (isCurrent === undefined) {
    throw new IsolaError(
      'plugin_manifest_invalid',
      `api: "${api}" is not a version range such as ">=1.0 <2.0"`,
      { param: 'api' },
    )
  }
  if (isCurrent) return undefined
  const old = deprecated.find((version) => isInRange(version, api))
  if (old !== undefined)
    return `api: "${api}" leaves out plugin API ${current}, which runs here. What was written for ${old} still works, but will not for long: change the range to ">=${old} <${nextMajor(current)}" and test it.`
  throw new IsolaError(
    'plugin_contract_mismatch',
    `api: written for "${api}"; this is plugin API ${current}`,
    { param: 'api' },
  )
}

const nextMajor = (version: string): string => `${Number(version.split('.')[0]) + 1}.0`
