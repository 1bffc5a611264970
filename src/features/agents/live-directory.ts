import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { AgentDirectory, ListedTool } from '#runtime/session/types/runtime.ts'
import type { RunnableAgent } from '#contracts/stored-agent.ts'
import type { MoreTools } from '#contracts/tool.ts'
import { ownerOf } from '#contracts/tool-name.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import type { AgentCatalog } from './agent-directory.ts'
import { createNamedParts, type MoreToolsDeps } from './more-tools.ts'
import { createLiveStored } from './stored/live-stored.ts'
import type { PreparedAgent } from './stored/prepare.ts'

/** Where the generation in force is read, and how one is wired. */
export interface LiveDirectoryDeps<T extends AgentCatalog> extends Pick<
  MoreToolsDeps,
  'around' | 'search'
> {
  /** The parts that every run has, as they are cached here. Throws if none were ever read. */
  readonly snapshot: () => Promise<PluginSnapshot>
  /** The same, never from the cache. May throw. */
  readonly latest: () => Promise<PluginSnapshot>
  /** The tools of parts that are not in the snapshot, by patterns of their names. May throw. */
  readonly tools: (wanted: readonly string[]) => Promise<readonly ListedTool[]>
  /** Their names alone. May throw. */
  readonly toolNames: (wanted: readonly string[]) => Promise<readonly string[]>
  /** What there is before anything was heard: for lists only. */
  readonly initial: PluginSnapshot
  readonly onFault: (error: unknown) => void
  /** Agents without a plugin; there are none if absent. */
  readonly runnable?: AgentDirectory['runnable'] | undefined
  readonly isSeen?: AgentDirectory['isSeen'] | undefined
  readonly listRunnable?: AgentDirectory['listRunnable'] | undefined
  /** Wires some parts, with more behind their names. Runs no code of an installed plugin. */
  readonly build: (snapshot: PluginSnapshot, beyond?: MoreTools) => T
}

/** The agents of the generation in force, which may change between two runs. */
export interface LiveDirectory<T extends AgentCatalog> {
  readonly directory: AgentDirectory
  /** The generation that is enabled now, as it was wired. Rejects if no generation was ever heard of. */
  readonly now: () => Promise<T>
  /**
   * Brings `list` up to date; with an agent that is not in it then, to this very moment. Never throws: what was known last
   * is better than nothing.
   */
  readonly refresh: (agent?: string) => Promise<void>
  /** The generation that was used last, as it was wired. */
  readonly current: () => T
  /** What a definition of an agent without a plugin would have of its tools, for somebody. May throw. */
  readonly prepare: (
    agent: RunnableAgent,
    principal: string,
  ) => Promise<Pick<PreparedAgent, 'withheld' | 'unknown'>>
}

/**
 * The agents of the generation in force. A run keeps the generation that it was wired with; the next run has what was
 * changed since. While the Catalog does not answer, runs go on with the last generation that was read; whether an
 * installed plugin may be called is checked with each call.
 */
export function createLiveDirectory<T extends AgentCatalog>(
  deps: LiveDirectoryDeps<T>,
): LiveDirectory<T> {
  const { snapshot, initial, build, onFault } = deps
  type Built = ReturnType<typeof wire>
  let last: Built | undefined
  /** What was wired last. Nothing is before somebody asks: an isolate that starts for a database row wires no plugin. */
  const built = (): Built => (last ??= wire(initial))
  function wire(given: PluginSnapshot) {
    const named = createNamedParts({ ...deps, own: (by) => stored.entries(by) })
    const catalog = build(given, named)
    const stored = createLiveStored(catalog, deps)
    return { number: given.number, version: versionOf(given), catalog, named, stored }
  }
  /** What cannot be wired at all leaves the generation before in its place. */
  function rewire(given: PluginSnapshot): void {
    try {
      last = wire(given)
    } catch (error) {
      onFault(error)
    }
  }
  const now = async (read = snapshot): Promise<T> => {
    // Rejects where no generation was ever read: then nothing is known of guards, nor of what was switched off.
    const given = await read()
    // An answer that was late does not bring back what was before.
    if (!last) rewire(given)
    else if (versionOf(given) !== last.version && given.number >= last.number) rewire(given)
    return built().catalog
  }
  /** Of these names and patterns those that what is here says nothing of. */
  const elsewhere = (wanted: readonly string[]): readonly string[] => {
    const isHere = (one: string) => built().catalog.ownerOf(ownerOf(one)) !== undefined
    return [
      ...wanted.filter((one) => one.includes('__') && !isHere(one)),
      ...wanted.filter((one) => !one.includes('__') && one.endsWith('*')),
    ]
  }
  /** Those that are here, and of what is not here those that fit. */
  const tools = async (wanted: readonly string[]): Promise<readonly ListedTool[]> => {
    const here = built().catalog.directory.tools()
    const asked = elsewhere(wanted)
    const more = asked.length > 0 ? await deps.tools(asked) : []
    const names = new Set(here.map(({ name }) => name))
    return [
      ...here.filter(({ name }) => isMatchOfAny(name, wanted)),
      ...more.filter(({ name }) => !names.has(name)),
    ]
  }
  /** For a name that is not in the cached set: an agent may have been enabled a moment ago. */
  const nowUncached = () => now(() => deps.latest().catch(snapshot))
  const later: AgentDirectory['load'] = async (...asked) =>
    (await nowUncached()).directory.load(...asked)
  return {
    directory: {
      async load(agent, options, use) {
        const { principal } = use ?? {}
        const { onDemand } = options
        if (onDemand && principal !== undefined) {
          await now()
          return (await built().stored.prepare(onDemand, principal)).load(options, use ?? {})
        }
        const found = await (await now()).directory.load(agent, options, use)
        if (principal === undefined) return found ?? later(agent, options, use)
        const { stored } = built()
        if (found) return { ...found, toolset: stored.around(found.toolset, principal) }
        const own = await stored.load(agent, principal)
        return own ? own.load(options, use ?? {}) : later(agent, options, use)
      },
      ...(deps.runnable && { runnable: deps.runnable }),
      ...(deps.isSeen && { isSeen: deps.isSeen }),
      ...(deps.listRunnable && { listRunnable: deps.listRunnable }),
      list: () => built().catalog.directory.list(),
      tools,
      async toolNames(wanted) {
        const asked = elsewhere(wanted)
        // Who only asks whether there is such a name goes on with those that are here.
        const more = asked.length > 0 ? await deps.toolNames(asked).catch(() => []) : []
        const here = built()
          .catalog.directory.tools()
          .map(({ name }) => name)
        return [...new Set([...here, ...more])].filter((name) => isMatchOfAny(name, wanted))
      },
      async offers(owners) {
        const { catalog, named } = built()
        const missing = owners.filter((id) => !catalog.ownerOf(id))
        const here = catalog.directory.offers()
        const more = missing.length > 0 ? await named.offersOf(missing) : noOffers
        const isAsked = ({ owner }: { readonly owner: string }) => owners.includes(owner)
        return {
          resources: [...here.resources.filter(isAsked), ...more.resources],
          prompts: [...here.prompts.filter(isAsked), ...more.prompts],
        }
      },
      async promptUnder(policy) {
        const around = await deps.around([...new Set(policy.pinned.map(ownerOf))])
        const pins = { ...around.pins, policy: [{ id: 'policy' as const, policy }] }
        return build({ ...around, pins }, built().named).prompt
      },
    },
    now: () => now(),
    async refresh(agent) {
      await now().catch(() => {})
      const isMissing =
        agent !== undefined &&
        !built()
          .catalog.directory.list()
          .some(({ name }) => name === agent)
      if (isMissing) await nowUncached().catch(() => {})
    },
    current: () => built().catalog,
    async prepare(agent, principal) {
      await now()
      return built().stored.prepare(agent, principal)
    },
  }
}

const noOffers = { resources: [], prompts: [] }

/** A bundle that could not be read may be there later, in the same generation. */
const versionOf = ({ number, sources }: PluginSnapshot): string =>
  `${number}:${Object.keys(sources).length}`
