import type { BundledPlugin } from '#contracts/manifest.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { PluginPin, PluginSnapshot, PluginSource } from '#contracts/plugin-catalog.ts'

/** The plugins of one generation, as the loader takes them. */
export interface GenerationPlugins {
  readonly plugins: readonly BundledPlugin[]
  readonly problems: readonly PluginProblem[]
}

/** What ships with the deployment, switched as the operator wants it, and what was installed beside it. */
export function pluginsOf(
  bundled: readonly BundledPlugin[],
  { installed, bundled: switches, sources }: PluginSnapshot,
): GenerationPlugins {
  const problems: PluginProblem[] = []
  const added = installed.flatMap((pin) => {
    const source = sources[pin.hash]
    if (source) return [toPlugin(pin, source)]
    const message = `the bundle of version ${pin.version} cannot be read; add it again`
    problems.push({ plugin: pin.id, code: 'plugin_code_unavailable', message })
    return []
  })
  return { plugins: [...bundled.map((plugin) => switchedBy(plugin, switches)), ...added], problems }
}

function switchedBy(plugin: BundledPlugin, switches: PluginSnapshot['bundled']): BundledPlugin {
  const { id } = Object(plugin.manifest) as { readonly id?: unknown }
  const state = typeof id === 'string' && Object.hasOwn(switches, id) ? switches[id] : undefined
  if (state === undefined) return plugin
  return {
    ...plugin,
    manifest: { ...Object(plugin.manifest), enabled: state === 'enabled' } as unknown,
  }
}

function toPlugin(
  { hash, tier, permit, grantEpoch, config, runsOwnAgent }: PluginPin,
  { manifest, files }: PluginSource,
): BundledPlugin {
  const own = Object(manifest) as { readonly config?: object }
  return {
    // Enabled is what the operator enabled, whatever the manifest says of itself.
    manifest: { ...own, enabled: true, config: { ...own.config, ...config } },
    files,
    hash,
    isolated: {
      tier,
      grantEpoch,
      isInstalled: true,
      granted: permit.grants,
      ...(runsOwnAgent !== undefined && { runsOwnAgent }),
    },
  }
}
