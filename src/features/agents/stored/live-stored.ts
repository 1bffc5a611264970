import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { RunnableAgent } from '#contracts/stored-agent.ts'
import type { ToolEntry, Toolset } from '#contracts/tool.ts'
import { ownerOf } from '#contracts/tool-name.ts'
import type { PreparedAgent, StoredWiring } from './prepare.ts'

/** A generation as agents without a plugin are wired into it. */
export interface StoredCatalog {
  readonly ownerOf: (id: string) => object | undefined
  readonly stored: StoredWiring
}

export interface LiveStoredDeps<T extends StoredCatalog> {
  readonly runnable?: AgentDirectory['runnable'] | undefined
  readonly listRunnable?: AgentDirectory['listRunnable'] | undefined
  /** What every run has, with the parts of these ids. May throw. */
  readonly around: (ids: readonly string[]) => Promise<PluginSnapshot>
  readonly build: (snapshot: PluginSnapshot) => T
}

const suffix = '__run'
const maxKept = 100

/** Agents without a plugin in one generation: each wired when it is named, and again only if its text is another. */
export function createLiveStored<T extends StoredCatalog>(
  base: T,
  { runnable, listRunnable, around, build }: LiveStoredDeps<T>,
) {
  /** Where the tools are that an agent names, by what it names. */
  const catalogs = new Map<string, T>()
  const kept = new Map<string, PreparedAgent>()
  const keep = <Value>(map: Map<string, Value>, key: string, value: Value): Value => {
    if (map.size >= maxKept) map.clear()
    map.set(key, value)
    return value
  }
  const catalogFor = async (uses: readonly string[]): Promise<T> => {
    const missing = [...new Set(uses.map(ownerOf))].filter((id) => !base.ownerOf(id))
    if (missing.length === 0) return base
    const key = missing.join(' ')
    return catalogs.get(key) ?? keep(catalogs, key, build(await around(missing)))
  }
  const find = async (principal: string, id: string) => runnable?.(principal, id)
  /** With its tools, for somebody: which of the agents that it names are tools of its is another question for each. */
  const prepare = async (agent: RunnableAgent, principal: string): Promise<PreparedAgent> => {
    const { id, agent: section } = agent.definition
    const catalog = await catalogFor(section.uses_tools)
    const others = section.uses_tools
      .filter((name) => !catalog.ownerOf(ownerOf(name)) && ownerOf(name) !== id)
      .map(async (name) => find(principal, ownerOf(name)))
    const more = (await Promise.all(others)).flatMap((one) => one ?? [])
    const key = JSON.stringify([agent.hash, agent.granted, more.map(({ hash }) => hash)])
    return (
      kept.get(key) ??
      keep(kept, key, catalog.stored.prepare(agent, more.map(catalog.stored.entryOf)))
    )
  }
  return {
    prepare,
    async load(id: string, principal: string): Promise<PreparedAgent | undefined> {
      const agent = await find(principal, id)
      return agent && prepare(agent, principal)
    },
    /** Those that somebody may call, as tools to be found: what is called is looked up by its name. */
    entries: async (principal: string): Promise<readonly ToolEntry[]> =>
      ((await listRunnable?.(principal)) ?? []).map(base.stored.toFind),
    /** A toolset that finds them too, once they are named. What cannot be looked up is not found. */
    around(toolset: Toolset, principal: string): Toolset {
      if (!runnable || !toolset.finder) return toolset
      const found = new Map<string, ToolEntry>()
      return {
        ...toolset,
        async ready(calls) {
          let away = await toolset.ready?.(calls)
          for (const { toolId, input } of calls) {
            const name = nameIn(toolId, input)
            if (!name.endsWith(suffix) || found.has(name) || toolset.resolve(name, {})) continue
            const agent = await find(principal, name.slice(0, -suffix.length)).catch(() => {
              away = 'away'
            })
            if (agent) found.set(name, base.stored.entryOf(agent))
          }
          return away
        },
        resolve(name, input) {
          const own = toolset.resolve(name, input)
          const entry = own ? undefined : found.get(nameIn(name, input))
          if (!entry) return own
          return { entry, input: name === callName ? Object(input['input']) : input }
        },
      }
    },
  }
}

const callName = 'isola__call'
const nameIn = (toolId: string, input: Readonly<Record<string, unknown>>): string =>
  toolId === callName ? String(input['name'] ?? '') : toolId
