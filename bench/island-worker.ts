// What a call of a plugin costs in each host, from a Durable Object as in the product, beside a direct call of its
// function and a bare call of the Worker Loader.
import { DurableObject, env as bindings } from 'cloudflare:workers'
import type { BundledPlugin } from '#contracts/manifest.ts'
import type { Plugin } from '#contracts/plugin.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { isolateModules, isolateVersion } from '../src/isolate.gen.ts'
import { loadPlugins } from '../src/plugins/in-process-host.ts'
import { createIsolateHost, type PluginRunnerStub } from '../src/plugins/isolate/isolate-host.ts'
import { createPluginRunnerClass } from '../src/plugins/isolate/plugin-runner.ts'
import { createIsolates } from '../src/plugins/isolate/worker-code.ts'
import { toToolEntries } from '../src/plugins/tool-entries.ts'
import { systemSources } from '../src/sources.ts'
import { createCapabilityDeps, passAll } from '../test/fakes/plugins.ts'
import { createToolContext } from '../test/fakes/tool-context.ts'

const { LOADER, CALLER } = bindings as unknown as {
  readonly LOADER: WorkerLoader
  readonly CALLER: DurableObjectNamespace<Caller>
}
const { clock, sha256 } = systemSources
const input = { text: 'What a tool is asked is a sentence or two.' }
const register: Plugin = () => ({ tools: { echo: async ({ text }) => ({ text }) } })
const code = 'export default () => ({ tools: { echo: async ({ text }) => ({ text }) } })'
const bare = `import { WorkerEntrypoint } from 'cloudflare:workers'
  export default class extends WorkerEntrypoint { run(text) { return JSON.stringify({ text: JSON.parse(text).text }) } }`

export class PluginRunner extends createPluginRunnerClass(() => ({
  clock,
  isolates: createIsolates({
    loader: LOADER,
    shim: { modules: isolateModules, modelModules: {}, version: isolateVersion },
    codeOf: async () => code,
  }),
})) {}

/** Bundled, isolated, or isolated under a grant epoch of its own, which is another isolate. */
function toEntry(runner: () => PluginRunnerStub, grantEpoch?: number): ToolEntry {
  const manifest = {
    id: 'echo',
    name: 'Echo',
    version: '1.0.0',
    description: 'Says what it is told.',
    entrypoint: 'main.ts',
    contributes: { tools: [{ name: 'echo', description: 'Says it.', input_schema: {} }] },
  }
  const plugin: BundledPlugin = {
    manifest,
    files: {},
    hash: 'e'.repeat(64),
    ...(grantEpoch === undefined
      ? { register }
      : { isolated: { code, tier: 'trusted', grantEpoch } }),
  }
  const isolates = createIsolateHost({ runner, sha256, shimVersion: isolateVersion })
  const { plugins } = loadPlugins([plugin], { validator: passAll, isolates })
  return toToolEntries(plugins[0]!, createCapabilityDeps())[0]!
}

let epoch = 0

export class Caller extends DurableObject {
  /** Makes `count` calls, one after the other. */
  async make(kind: string, count: number): Promise<void> {
    const call = this.#caller(kind)
    for (let made = 0; made < count; made += 1) await call()
  }

  #caller(kind: string): () => Promise<unknown> {
    const { exports } = this.ctx as unknown as { exports: { PluginRunner: PluginRunnerStub } }
    const runner = () => exports.PluginRunner
    const run = async ({ tool }: ToolEntry): Promise<void> => {
      const result = await tool.execute(input, createToolContext())
      if (!result.ok) throw new Error(JSON.stringify(result))
    }
    const about = { id: 'echo', version: '1.0.0', config: {} }
    const { echo } = register(about).tools ?? {}
    const load = (id: string) =>
      LOADER.get(id, () => ({
        compatibilityDate: '2026-08-01',
        mainModule: 'bare.js',
        modules: { 'bare.js': bare },
        env: {},
        globalOutbound: null,
      })).getEntrypoint() as unknown as { run: (text: string) => Promise<string> }
    const [bundled, warm] = [toEntry(runner), toEntry(runner, 0)]
    const kinds: Record<string, () => Promise<unknown>> = {
      direct: async () => echo?.(input, {} as never),
      inProcess: () => run(bundled),
      bareWarm: () => load('warm').run(JSON.stringify(input)),
      warm: () => run(warm),
      bareFresh: () => load(`fresh-${(epoch += 1)}`).run(JSON.stringify(input)),
      fresh: () => run(toEntry(runner, (epoch += 1))),
    }
    const call = kinds[kind]
    if (!call) throw new Error(`no such kind: ${kind}`)
    return call
  }
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url)
    await CALLER.getByName('one').make(
      searchParams.get('kind') ?? '',
      Number(searchParams.get('count')),
    )
    return new Response('done')
  },
}
