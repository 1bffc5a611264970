import { env } from 'cloudflare:workers'
import type { PluginRunnerStub } from '../../src/features/plugins/sandbox/isolate-host.ts'
import { isolateVersion } from '../../src/isolate.gen.ts'
import { createIsolateHost } from '../../src/features/plugins/sandbox/isolate-host.ts'
import { systemSources } from '../../src/compose/sources.ts'

/** The host of isolates over the Runner beside the sandbox. */
export const isolates = createIsolateHost({
  runner: () => (env as unknown as { readonly RUNNER: PluginRunnerStub }).RUNNER,
  sha256: systemSources.sha256,
  shimVersion: isolateVersion,
})
