import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { Carrier } from '#contracts/outbound.ts'
import type { Plugin, ToolFunction } from '#features/plugins/types/plugin.ts'
import type { SchemaValidator } from '#contracts/tool.ts'
import { createFakeLongTerm } from './long-term.ts'
import { createScratchpad } from '../../src/features/memory/scratchpad.ts'
import { noNetwork, outboundOver } from './outbound.ts'
import { readerOf } from './secrets.ts'
import { createFakeGateway } from './session-gateway.ts'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'
import type { CapabilityDeps } from '../../src/features/plugins/capabilities/capability-deps.ts'
import { createHooks } from '../../src/features/plugins/hooks/create-hooks.ts'
import type { HooksDeps } from '../../src/features/plugins/hooks/ask-point.ts'
import type { IsolateHost } from '../../src/features/plugins/sandbox/isolate-host.ts'
import {
  loadPlugins,
  type LoadedPlugin,
} from '../../src/features/plugins/loading/in-process-host.ts'

export const passAll: SchemaValidator = { validate: () => ({ ok: true }) }

/** A plugin as the generator writes it; `manifest` adds to the least that is valid. */
export function bundle(manifest: Record<string, unknown>, register?: Plugin): BundledPlugin {
  return {
    manifest: {
      name: 'Test',
      version: '1.0.0',
      description: 'A test plugin.',
      ...(register && { entrypoint: 'main.ts' }),
      ...manifest,
    },
    files: {},
    hash: 'f'.repeat(64),
    ...(register && { register }),
  }
}

/** A plugin `demo` whose tools are these functions. */
export function bundleTools(
  tools: Readonly<Record<string, ToolFunction>>,
  manifest: Record<string, unknown> = {},
): BundledPlugin {
  const declared = Object.keys(tools).map((name) => ({
    name,
    description: `Does ${name}.`,
    input_schema: { type: 'object' },
  }))
  return bundle({ id: 'demo', contributes: { tools: declared }, ...manifest }, () => ({ tools }))
}

/** A host of isolates in which every plugin has a tool `run`. */
export const runningIsolates: IsolateHost = {
  partsOf: () => ({ tools: { run: async () => 1 } }),
  inspect: () => Promise.reject(new Error('There is nothing in here.')),
}

export function loadOne(bundled: BundledPlugin, isolates?: IsolateHost): LoadedPlugin {
  const { plugins, problems } = loadPlugins([bundled], { validator: passAll, isolates })
  const [plugin] = plugins
  if (!plugin) throw new Error(JSON.stringify(problems))
  return plugin
}

export interface FakeDeps extends Partial<CapabilityDeps> {
  /** In the place of the network, beneath the one way out. */
  readonly fetch?: Carrier
}

/** Capabilities over in-memory sessions; the network answers what the test says. */
export function createCapabilityDeps({ fetch, ...overrides }: FakeDeps = {}): CapabilityDeps {
  return {
    sessions: createFakeGateway(),
    longTerm: createFakeLongTerm(),
    memoryOf: async () => undefined,
    createMemory: (storage, streamOf) =>
      createScratchpad({
        storage,
        streamOf,
        buildIndex: createSearchIndex,
        redact: (text) => text,
      }),
    ...outboundOver(fetch ?? noNetwork, { sleep: () => new Promise(() => {}) }),
    network: { rule: async () => ({ hosts: ['*'], elsewhere: 'ask' }), ownHosts: [] },
    databases: new Map(),
    readSecrets: readerOf({}),
    ids: countedIds(),
    clock: { nowMs: () => 0 },
    scopedStorage: createFakeScopedStorage(),
    validator: passAll,
    ...overrides,
  }
}

function countedIds(): CapabilityDeps['ids'] {
  let count = 0
  return { next: (prefix) => `${prefix}_${(count += 1)}` }
}

/** Objects in memory, by who they are of. */
function createFakeScopedStorage(): CapabilityDeps['scopedStorage'] {
  const { at } = createFakeGateway()
  return {
    ofPrincipal: (principal) => at(`principal ${principal}`).storage,
    ofPlugin: (plugin) => at(`plugin ${plugin}`).storage,
  }
}

/** Hooks of these plugins; time stands still unless a test says otherwise. */
export function createTestHooks(plugins: readonly LoadedPlugin[], deps: Partial<HooksDeps> = {}) {
  return createHooks(plugins, {
    capabilities: createCapabilityDeps(),
    clock: { nowMs: () => 0, sleep: () => new Promise(() => {}) },
    maxResultChars: 1_000,
    traceId: () => '0123456789abcdef0123456789abcdef',
    record: async () => {},
    ...deps,
  })
}
