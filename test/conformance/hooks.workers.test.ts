import hooks from 'isolated:test/fixtures/plugins/hooks'
import { exports } from 'cloudflare:workers'
import { expect, it, vi } from 'vitest'
import { parseManifest } from '../../src/runtime/catalog/types/permit.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { isolateVersion } from '../../src/isolate.gen.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { createIsolateHost } from '../../src/features/plugins/sandbox/isolate-host.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { isolate, isolates } from '../fakes/isolates.ts'
import { passAll } from '../fakes/plugins.ts'
import { describeHooks } from './describe-hooks.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const { isolate: toIsolated } = await import('../fakes/isolates.ts')
  const { default: folder } = await import('isolated:test/fixtures/plugins/hooks')
  const bundledPlugins: readonly BundledPlugin[] = [toIsolated(folder, 'community')]
  return { bundledPlugins }
})
// The Worker was loaded before this file: the next request loads it anew, with the plugin above.

describeHooks('in an isolate', {
  load() {
    let count = 0
    const counted = createIsolateHost({
      runner: () => ({
        run: (...given) => {
          count += 1
          return exports.PluginRunner.run(...given)
        },
      }),
      sha256: systemSources.sha256,
      shimVersion: isolateVersion,
    })
    const loaded = loadPlugins([isolate(hooks, 'community')], {
      validator: passAll,
      isolates: counted,
    })
    const [plugin] = loaded.plugins
    if (!plugin) throw new Error(JSON.stringify(loaded.problems))
    return { plugin, asked: () => count }
  },
})

it('Y4: the hooks and the schedule of code on an island are compared with its manifest', async () => {
  const inspect = (manifest: Record<string, unknown>) =>
    isolates.inspect({
      manifest: parseManifest(manifest),
      hash: hooks.hash,
      code: hooks.code,
      tier: 'community',
      grantEpoch: 0,
    })
  const own = hooks.manifest as Record<string, unknown>
  await inspect(own)
  const { schedule: _schedule, ...unscheduled } = own
  await expect(inspect(unscheduled)).rejects.toThrow(/plugin\.yaml has no schedule/)
  await expect(
    inspect({ ...own, contributes: { hooks: [{ on: 'beforeToolCall' }] } }),
  ).rejects.toThrow(/not in contributes\.hooks of plugin\.yaml: afterToolCall/)
  await expect(inspect({ ...own, contributes: { hooks: [{ on: 'sessionEnd' }] } })).rejects.toThrow(
    /hooks without a function: sessionEnd/,
  )
})
