import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultPinned } from '#runtime/kernel/types/tool-policy.ts'
import { bundledPlugins } from '../../src/bundled.gen.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'
import { withOutsideTools } from '../../src/runtime/catalog/outside-tools.ts'
import { createPresence } from '../../src/runtime/catalog/skill-tool.ts'
import { createToolset } from '../../src/runtime/catalog/toolset.ts'
import { createPromptStore } from '../../src/features/memory/prompt-store.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { readYaml } from '../../src/features/plugins/admission/read-yaml.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { openAgents } from './agents.ts'
import { sha256 } from './kernel.ts'
import { createManualClock } from './manual-clock.ts'
import { createCapabilityDeps, runningIsolates } from './plugins.ts'
import { createFakeGateway, submitAsTo } from './session-gateway.ts'
import { createToolContext } from './tool-context.ts'

const plugins = join(import.meta.dirname, '../../plugins')

/** A phrase of a plugin, and what `isola__find` named for it, best first. */
export interface TriedPhrase {
  readonly plugin: string
  /** The tool that it must find first; absent where it must find none of the plugin's. */
  readonly meant?: string
  readonly phrase: string
  readonly found: readonly string[]
}

/** The phrases of each `triggers.yaml`, by plugin. */
export const triggersOf = (id: string) =>
  readYaml(readFileSync(join(plugins, id, 'triggers.yaml'), 'utf8'), 'triggers.yaml') as {
    readonly finds: Readonly<Record<string, readonly string[]>>
    readonly misses: readonly string[]
  }

/** All plugins that ship, those that are off too, and the orchestrator that reaches them. */
export async function openBundled() {
  const enabled = bundledPlugins.map((one) => ({
    ...one,
    manifest: { ...(one.manifest as object), enabled: true },
  }))
  const validator = createSchemaValidator()
  const report = loadPlugins(enabled, { validator, isolates: runningIsolates })
  const capabilities = createCapabilityDeps()
  const loaded = report.plugins.map((one) => ({ ...one, tools: toToolEntries(one, capabilities) }))
  const gateway = createFakeGateway()
  const { directory } = openAgents({
    plugins: loaded,
    prompts: createPromptStore(),
    sessions: gateway,
    submitAs: submitAsTo(gateway),
    clock: createManualClock(),
    createToolset: (entries, options) =>
      createToolset(entries, { ...options, buildIndex: createSearchIndex }),
    withOutside: withOutsideTools,
    presence: createPresence,
    sha256,
    pinned: defaultPinned,
    count: createTokenEstimator(),
  })
  const { toolset } = (await directory.load('orchestrator', {}))!
  const { tool } = toolset.resolve('isola__find', {})!.entry
  return {
    problems: report.problems,
    ids: loaded.map(({ manifest }) => manifest.id),
    toolsOf: (id: string) => directory.tools().filter(({ name }) => name.startsWith(`${id}__`)),
    isAgent: (name: string) =>
      loaded.some(({ manifest }) => manifest.agent && name === `${manifest.id}__run`),
    async find(phrase: string): Promise<readonly string[]> {
      const result = await tool.execute({ queries: [phrase] }, createToolContext())
      const { tools } = Object(result.ok && result.output) as {
        readonly tools: { readonly id: string }[]
      }
      return tools.map(({ id }) => id)
    },
  }
}

/** Every phrase of every plugin that ships, tried. */
export async function tryToolTriggers({
  ids,
  find,
}: Pick<Awaited<ReturnType<typeof openBundled>>, 'ids' | 'find'>): Promise<readonly TriedPhrase[]> {
  const asked = ids.flatMap((plugin) => {
    const { finds, misses } = triggersOf(plugin)
    return [
      ...Object.entries(finds).flatMap(([tool, phrases]) =>
        phrases.map((phrase) => ({ plugin, meant: `${plugin}__${tool}`, phrase })),
      ),
      ...misses.map((phrase) => ({ plugin, phrase })),
    ]
  })
  return Promise.all(asked.map(async (one) => ({ ...one, found: await find(one.phrase) })))
}
