import type { PluginProblem } from '#contracts/operations.ts'
import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { AgentDirectory } from '#contracts/runtime.ts'
import type { AgentCatalog } from './agent-directory.ts'

export interface LiveDirectoryDeps {
  /** What is enabled now. May throw. */
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly lastKnown: () => PluginSnapshot
  /** Wires one generation. Runs no code of an installed plugin. */
  readonly build: (snapshot: PluginSnapshot) => AgentCatalog
}

export interface LiveDirectory {
  readonly directory: AgentDirectory
  /** Brings `list` and `toolNames` up to date. Never throws: what was known last is better than nothing. */
  readonly refresh: () => Promise<void>
  /** Of the generation that was used last. */
  readonly problems: () => readonly PluginProblem[]
}

/**
 * The agents of the generation that is enabled: the next run has what was changed, a run under way keeps what it has.
 * While the Catalog cannot be asked, the last generation that was heard of goes on; what an installed plugin may do is
 * asked with each call anyway.
 */
export function createLiveDirectory({
  snapshot,
  lastKnown,
  build,
}: LiveDirectoryDeps): LiveDirectory {
  let built = wire(lastKnown())
  function wire(given: PluginSnapshot) {
    return { number: given.number, catalog: build(given) }
  }
  const now = async (): Promise<AgentCatalog> => {
    const given = await snapshot().catch(lastKnown)
    if (given.number !== built.number) built = wire(given)
    return built.catalog
  }
  return {
    directory: {
      load: async (agent, overrides) => (await now()).directory.load(agent, overrides),
      list: () => built.catalog.directory.list(),
      toolNames: () => built.catalog.directory.toolNames(),
    },
    refresh: async () => void (await now()),
    problems: () => built.catalog.problems,
  }
}
