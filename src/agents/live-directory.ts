import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { AgentDirectory } from '#contracts/runtime.ts'
import type { AgentCatalog } from './agent-directory.ts'

/** Where the generation in force is read, and how one is wired. */
export interface LiveDirectoryDeps<T extends AgentCatalog> {
  /** What is enabled now. May throw. */
  readonly snapshot: () => Promise<PluginSnapshot>
  /** The last generation that was heard of, however old; nothing if none ever was. */
  readonly lastKnown: () => PluginSnapshot | undefined
  /** What there is before anything was heard: for lists only. */
  readonly initial: PluginSnapshot
  readonly onFault: (error: unknown) => void
  /** Wires one generation. Runs no code of an installed plugin. */
  readonly build: (snapshot: PluginSnapshot) => T
}

/** The agents of the generation in force, which may change between two runs. */
export interface LiveDirectory<T extends AgentCatalog> {
  readonly directory: AgentDirectory
  /** The generation that is enabled now, as it was wired. Rejects if no generation was ever heard of. */
  readonly now: () => Promise<T>
  /** Brings `list`, `toolNames` and `offers` up to date. Never throws: what was known last is better than nothing. */
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
  initial,
  build,
  onFault,
}: LiveDirectoryDeps<T>): LiveDirectory<T> {
  type Built = ReturnType<typeof wire>
  let last: Built | undefined
  /** What was wired last. Nothing is before somebody asks: an isolate that starts for a database row wires no plugin. */
  const built = (): Built => (last ??= wire(initial))
  function wire(given: PluginSnapshot) {
    return { number: given.number, version: versionOf(given), catalog: build(given) }
  }
  /** What cannot be wired at all leaves the generation before in its place. */
  function rewire(given: PluginSnapshot): void {
    try {
      last = wire(given)
    } catch (error) {
      onFault(error)
    }
  }
  const now = async (): Promise<T> => {
    const given = await snapshot().catch((error: unknown) => {
      // Without any generation nobody knows which guards there are, and what was switched off.
      const known = lastKnown()
      if (known) return known
      throw error
    })
    // An answer that was late does not bring back what was before.
    if (!last) rewire(given)
    else if (versionOf(given) !== last.version && given.number >= last.number) rewire(given)
    return built().catalog
  }
  return {
    directory: {
      load: async (agent, options, use) => (await now()).directory.load(agent, options, use),
      list: () => built().catalog.directory.list(),
      toolNames: () => built().catalog.directory.toolNames(),
      tools: () => built().catalog.directory.tools(),
      offers: () => built().catalog.directory.offers(),
    },
    now,
    refresh: async () => void (await now().catch(() => {})),
    current: () => built().catalog,
  }
}

/** A bundle that could not be read may be there later, in the same generation. */
const versionOf = ({ number, sources }: PluginSnapshot): string =>
  `${number}:${Object.keys(sources).length}`
