import { defined } from '#contracts/defined.ts'
import { parseManifest, toPermit, widened } from '#runtime/catalog/types/permit.ts'
import type { BundledPlugin } from '../types/manifest.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import {
  pinsOf,
  type PluginSnapshot,
  type PluginPin,
  type PluginSource,
} from '#runtime/catalog/types/generation.ts'

/** The plugins that ship with the deployment, switched as the operator set them, and the installed plugins. */
export function pluginsOf(bundled: readonly BundledPlugin[], snapshot: PluginSnapshot) {
  const { sources } = snapshot
  const switches = new Map(pinsOf(snapshot, 'bundled').map(({ id, state }) => [id, state]))
  const problems: PluginProblem[] = []
  const added = pinsOf(snapshot, 'plugin').flatMap((pin) => {
    const source = sources[pin.hash]
    if (source && !isCovered(pin, source)) {
      const why = 'its manifest asks for more than it was allowed; grant it again'
      problems.push({ plugin: pin.id, code: 'plugin_manifest_invalid', message: why })
      return []
    }
    if (source) return [toPlugin(pin, source)]
    const message = `the bundle of version ${pin.version} cannot be read; add it again`
    problems.push({ plugin: pin.id, code: 'plugin_code_unavailable', message })
    return []
  })
  return { plugins: [...bundled.map((plugin) => switchedBy(plugin, switches)), ...added], problems }
}

/** Whether the permit covers everything that the manifest requests: the two are stored in different tables. */
function isCovered({ permit }: PluginPin, { manifest }: PluginSource): boolean {
  try {
    return widened(toPermit(parseManifest(manifest)), permit).length === 0
  } catch {
    return true // the loader reports the problem
  }
}

function switchedBy(plugin: BundledPlugin, switches: ReadonlyMap<string, string>): BundledPlugin {
  const { id } = Object(plugin.manifest) as { readonly id?: unknown }
  const state = typeof id === 'string' ? switches.get(id) : undefined
  if (state === undefined) return plugin
  return {
    ...plugin,
    manifest: { ...Object(plugin.manifest), enabled: state === 'enabled' } as unknown,
  }
}

function toPlugin(
  { hash, tier, permit, grantEpoch, config, runsOwnAgent, isTold }: PluginPin,
  { manifest, files }: PluginSource,
): BundledPlugin {
  const own = Object(manifest) as { readonly config?: object }
  return {
    // The operator decides what is enabled, whatever the manifest says.
    manifest: { ...own, enabled: true, config: { ...own.config, ...config } },
    files,
    hash,
    isolated: {
      tier,
      grantEpoch,
      isInstalled: true,
      granted: permit.grants,
      ...defined({ runsOwnAgent, isTold }),
    },
  }
}
