import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { AgentDirectory } from '#contracts/runtime.ts'
import type { AgentCatalog } from './agent-directory.ts'

export interface LiveDirectoryDeps<T extends AgentCatalog> {
  /** What is enabled now. May throw. */
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly lastKnown: () => PluginSnapshot
  /** Wires one generation. Runs no code of an installed plugin. */
  readonly build: (snapshot: PluginSnapshot) => T
}

export interface LiveDirectory<T extends AgentCatalog> {
  readonly directory: AgentDirectory
  /** The generation that is enabled now, as it was wired. Never rejects. */
  readonly now: () => Promise<T>
  /** Brings `list` and `toolNames` up to date. Never throws: what was known last is better than nothing. */
  readonly refresh: () => Promise<void>
  /** The generation that was used last, as it was wired. */
  readonly current: () => T
}

/**
 * The agents of the generation that is enabled: the next run has what was changed, a run under way keeps what it has.
 * While the Catalog cannot be asked, the last generation that was heard of goes on; what an installed plugin may do is
 * asked with each call anyway.
 */
export function createLiveDirectory<T extends AgentCatalog>({
  snapshot,
  lastKnown,
  build,
}: LiveDirectoryDeps<T>): LiveDirectory<T> {
  let built = wire(lastKnown())
  function wire(given: PluginSnapshot) {
    return { version: versionOf(given), catalog: build(given) }
  }
  const now = async (): Promise<T> => {
    const given = await snapshot().catch(lastKnown)
    if (versionOf(given) !== built.version) built = wire(given)
    return built.catalog
  }
  return {
    directory: {
      load: async (agent, overrides) => (await now()).directory.load(agent, overrides),
      list: () => built.catalog.directory.list(),
      toolNames: () => built.catalog.directory.toolNames(),
    },
    now,
    refresh: async () => void (await now()),
    current: () => built.catalog,
  }
}

/** A bundle that could not be read may be there later, in the same generation. */
const versionOf = ({ number, sources }: PluginSnapshot): string =>
  `${number}:${Object.keys(sources).length}`
