// Times a call of a plugin in each host, from a Durable Object as in the product, beside a direct call of its
// function and a bare call of the Worker Loader.
import { DurableObject, env as bindings } from 'cloudflare:workers'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { Plugin } from '#features/plugins/types/plugin.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { isolateModules, isolateVersion } from '../src/isolate.gen.ts'
import { openCapabilities } from '../src/features/plugins/capabilities/capabilities.ts'
import { loadPlugins, type LoadedPlugin } from '../src/features/plugins/loading/in-process-host.ts'
import {
  createIsolateHost,
  type PluginRunnerStub,
} from '../src/features/plugins/sandbox/isolate-host.ts'
import { toIsolateId } from '../src/features/plugins/sandbox/isolate-id.ts'
import { createPluginRunnerClass } from '../src/features/plugins/sandbox/plugin-runner.ts'
import { createIsolates } from '../src/features/plugins/sandbox/worker-code.ts'
import { toToolEntries } from '../src/features/plugins/tools/tool-entries.ts'
import { systemSources } from '../src/compose/sources.ts'
import { createCapabilityDeps, passAll } from '../test/fakes/plugins.ts'
import { createToolContext } from '../test/fakes/tool-context.ts'

const { LOADER, CALLER } = bindings as unknown as {
  readonly LOADER: WorkerLoader
  readonly CALLER: DurableObjectNamespace<Caller>
}
const { clock, sha256 } = systemSources
const input = { text: 'What a tool is asked is a sentence or two.' }
const about = { on: 'beforeToolCall', session: 's', run: 'r', agent: 'a', principal: 'p' } as const
const register: Plugin = () => ({ tools: { echo: async ({ text }) => ({ text }) } })
const events = Array.from({ length: 8 }, (_, at) => ({
  ...about,
  tool: 'echo__echo',
  call: `call_${at}`,
  input,
}))
const parts = `{ tools: { echo: async ({ text }) => ({ text }) }, hooks: { beforeToolCall: async () => {} } }`
/** A module of so many bytes, filled up with functions that are never called. */
function codeOf(sizeBytes: number): string {
  let filler = ''
  for (let at = 0; filler.length < sizeBytes; at += 1)
    filler += `function unused${at}(value) { return [value, 'text number ${at}', value * ${at}].join('-') }\n`
  return `${filler}export default () => (${parts})`
}
/** By the plugin's hash. */
const codes: Readonly<Record<string, string>> = {
  [hashOf('e')]: codeOf(5_000),
  [hashOf('f')]: codeOf(443_000),
}
function hashOf(letter: string): string {
  return letter.repeat(64)
}
const bare = `import { WorkerEntrypoint } from 'cloudflare:workers'
  export default class extends WorkerEntrypoint { run(text) { return JSON.stringify({ text: JSON.parse(text).text }) } }`

export class PluginRunner extends createPluginRunnerClass(() => ({
  clock,
  isolates: createIsolates({
    loader: LOADER,
    shim: { modules: isolateModules, modelModules: {}, version: isolateVersion },
    codeOf: async (hash) => codes[hash]!,
  }),
})) {}

/** Bundled, isolated, or isolated under a grant epoch of its own, which is another isolate. */
function load(runner: () => PluginRunnerStub, grantEpoch?: number, letter = 'e'): LoadedPlugin {
  const manifest = {
    id: 'echo',
    name: 'Echo',
    version: '1.0.0',
    description: 'Says what it is told.',
    entrypoint: 'main.ts',
    contributes: {
      tools: [{ name: 'echo', description: 'Says it.', input_schema: {} }],
      ...(grantEpoch !== undefined && { hooks: [{ on: 'beforeToolCall' }] }),
    },
  }
  const plugin: BundledPlugin = {
    manifest,
    files: {},
    hash: hashOf(letter),
    ...(grantEpoch === undefined ? { register } : { isolated: { tier: 'trusted', grantEpoch } }),
  }
  const isolates = createIsolateHost({ runner, sha256, shimVersion: isolateVersion })
  const { plugins, problems } = loadPlugins([plugin], { validator: passAll, isolates })
  if (!plugins[0]) throw new Error(JSON.stringify(problems))
  return plugins[0]
}

const toEntry = (...of: Parameters<typeof load>): ToolEntry =>
  toToolEntries(load(...of), createCapabilityDeps())[0]!

/** How many isolates so many session trees use in a day, each of them all plugins. */
function countIds(tier: TrustTier, { sessions, plugins }: { sessions: number; plugins: number }) {
  const ids = new Set<string>()
  for (let session = 0; session < sessions; session += 1)
    for (let plugin = 0; plugin < plugins; plugin += 1) {
      const identity = { plugin: `p${plugin}`, hash: hashOf(`${plugin}`), tier, config: {} }
      const more = { grantEpoch: 1, shimVersion: isolateVersion, rootSession: `ses_${session}` }
      ids.add(toIsolateId({ ...identity, ...more, principal: 'p', isShared: false }, sha256))
    }
  return ids.size
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
    const bareOf = (id: string) =>
      LOADER.get(id, () => ({
        compatibilityDate: '2026-08-01',
        mainModule: 'bare.js',
        modules: { 'bare.js': bare },
        env: {},
        globalOutbound: null,
      })).getEntrypoint() as unknown as { run: (text: string) => Promise<string> }
    const [bundled, warm, warmPlugin] = [toEntry(runner), toEntry(runner, 0), load(runner, 0)]
    const deps = createCapabilityDeps()
    const kinds: Record<string, () => Promise<unknown>> = {
      direct: async () => echo?.(input, {} as never),
      inProcess: () => run(bundled),
      bareWarm: () => bareOf('warm').run(JSON.stringify(input)),
      warm: () => run(warm),
      bareFresh: () => bareOf(`fresh-${(epoch += 1)}`).run(JSON.stringify(input)),
      fresh: () => run(toEntry(runner, (epoch += 1))),
      freshLarge: () => run(toEntry(runner, (epoch += 1), 'f')),
      hooks: async () => {
        const { capabilities, close } = openCapabilities(warmPlugin, createToolContext(), deps)
        await warmPlugin.parts.hooks?.['beforeToolCall']?.(
          events,
          capabilities,
          createToolContext(),
        )
        close()
      },
    }
    const call = kinds[kind]
    if (!call) throw new Error(`no such kind: ${kind}`)
    return call
  }
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url)
    const kind = searchParams.get('kind') ?? ''
    const number = (name: string) => Number(searchParams.get(name))
    if (kind === 'ids') {
      const tier = searchParams.get('tier') as TrustTier
      const counts = { sessions: number('sessions'), plugins: number('plugins') }
      return new Response(String(countIds(tier, counts)))
    }
    await CALLER.getByName('one').make(kind, number('count'))
    return new Response('done')
  },
}
