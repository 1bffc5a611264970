import { exports } from 'cloudflare:workers'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { isolateVersion } from '../../src/isolate.gen.ts'
import {
  loadPlugins,
  type LoadedPlugin,
} from '../../src/features/plugins/loading/in-process-host.ts'
import { createIsolateHost } from '../../src/features/plugins/sandbox/isolate-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { createCapabilityDeps, passAll, type FakeDeps } from './plugins.ts'

export interface Folder {
  readonly manifest: unknown
  readonly code: string
  readonly hash: string
}

/** A folder as it would be installed: code for an isolate, trusted as far as its source is, whose texts an operator has read. */
export function isolate(
  { manifest, code, hash }: Folder,
  tier: TrustTier,
  grantEpoch = 0,
): BundledPlugin {
  return { manifest, files: {}, hash, isolated: { code, tier, grantEpoch, isTold: true } }
}

/** The host of isolates over the real Runner of the Worker under test. */
export const isolates = createIsolateHost({
  runner: () => exports.PluginRunner,
  sha256: systemSources.sha256,
  shimVersion: isolateVersion,
})

/** The parts that run code of a model, over the same Runner. */
export const modelCode = {
  runner: () => exports.PluginRunner,
  sha256: systemSources.sha256,
  shimVersion: isolateVersion,
}

export function loadIsolated(plugin: BundledPlugin): LoadedPlugin {
  const { plugins, problems } = loadPlugins([plugin], { validator: passAll, isolates })
  const [loaded] = plugins
  if (!loaded) throw new Error(JSON.stringify(problems))
  return loaded
}

export function isolatedEntries(plugin: BundledPlugin, deps: FakeDeps = {}): readonly ToolEntry[] {
  return toToolEntries(loadIsolated(plugin), createCapabilityDeps(deps))
}
