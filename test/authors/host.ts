// What stands beside the sandbox of `isola plugin test`: the Runner, which starts the plugin on an island. Its answers
// are all that the tests have of it.
import { env } from 'cloudflare:workers'
import { bundle } from 'under-test:plugin'
import { isolateModules, isolateVersion, modelModules } from '../../src/isolate.gen.ts'
import { createPluginRunnerClass } from '../../src/features/plugins/sandbox/plugin-runner.ts'
import { createIsolates } from '../../src/features/plugins/sandbox/worker-code.ts'
import { systemSources } from '../../src/compose/sources.ts'

const isolates = createIsolates({
  loader: env.LOADER,
  shim: { modules: isolateModules, modelModules, version: isolateVersion },
  codeOf: async () => bundle.code ?? '',
})

export class PluginRunner extends createPluginRunnerClass(() => ({
  isolates,
  clock: systemSources.clock,
})) {}
