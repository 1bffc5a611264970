import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { Offers } from '#contracts/manifest/manifest-offers.ts'
import { type MoreTools, ownerOf } from '#runtime/catalog/types/skill.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import {
  createStoredAgents,
  type StoredAgents,
  type StoredAgentsDeps,
} from './stored/wire-stored.ts'
import type { WiredAgents } from './wire-agents.ts'

export interface GenerationsDeps<T extends WiredAgents> extends Pick<StoredAgentsDeps, 'runnable'> {
  /** The parts that every run has, as they are cached here. Throws if none were ever read. */
  readonly snapshot: () => Promise<PluginSnapshot>
  /** The same, never from the cache. May throw. */
  readonly latest: () => Promise<PluginSnapshot>
  /** The parts that every run has, and the parts of these ids with their needs. May throw. */
  readonly around: (ids: readonly string[]) => Promise<PluginSnapshot>
  readonly search: MoreTools['search']
  /** The stored agents that a principal may call, as tools to find. */
  readonly findable: NonNullable<MoreTools['own']>
  /** The generation of an isolate that has read none yet: for lists only. */
  readonly initial: PluginSnapshot
  readonly onFault: (error: unknown) => void
  /** Wires some parts, with more behind their names. Runs no code of an installed plugin. */
  readonly build: (snapshot: PluginSnapshot, beyond?: MoreTools) => T
}

/** One generation as this isolate wired it. */
interface WiredGeneration<T extends WiredAgents> {
  readonly number: number
  readonly version: string
  readonly wired: T
  readonly named: NamedParts
  readonly stored: StoredAgents
}

export interface Generations<T extends WiredAgents> {
  /** The generation in force. Rejects if the Catalog never gave one. */
  readonly inForce: () => Promise<WiredGeneration<T>>
  /** The same, asked of the Catalog now. */
  readonly newest: () => Promise<WiredGeneration<T>>
  /** The generation that this isolate wired last, without a read. */
  readonly last: () => WiredGeneration<T>
  /** Reads the generation in force; reads the newest if it lacks this agent. Never throws: the last one stays. */
  readonly refresh: (agent?: string) => Promise<void>
}

/**
 * Wires each generation once: the next run has the new parts, a run under way keeps its own. While the Catalog cannot
 * be reached, the last generation stays; each call of an installed plugin is checked anyway.
 */
export function createGenerations<T extends WiredAgents>(deps: GenerationsDeps<T>): Generations<T> {
  const { snapshot, latest, initial, build, onFault } = deps
  let wiredLast: WiredGeneration<T> | undefined
  // The first use wires: an isolate that starts for a database row wires no plugin.
  const last = () => (wiredLast ??= wire(initial))
  function wire(parts: PluginSnapshot): WiredGeneration<T> {
    const named = createNamedParts(deps)
    const wired = build(parts, named)
    const stored = createStoredAgents(wired, deps)
    return { number: parts.number, version: versionOf(parts), wired, named, stored }
  }
  const take = async (read: () => Promise<PluginSnapshot>): Promise<WiredGeneration<T>> => {
    // Rejects if no generation was ever read: the guards and the switched-off plugins are unknown then.
    const parts = await read()
    // A late answer must not bring an older generation back.
    const isNews =
      !wiredLast || (versionOf(parts) !== wiredLast.version && parts.number >= wiredLast.number)
    if (isNews) rewire(parts)
    return last()
  }
  /** A generation that cannot be wired at all leaves the one before it in place. */
  function rewire(parts: PluginSnapshot): void {
    try {
      wiredLast = wire(parts)
    } catch (error) {
      onFault(error)
    }
  }
  const inForce = () => take(snapshot)
  // For a name that the cached parts lack: an agent may have been enabled a moment ago.
  const newest = () => take(() => latest().catch(snapshot))
  return {
    inForce,
    newest,
    last,
    async refresh(agent) {
      await inForce().catch(() => {})
      if (agent === undefined) return
      const isListed = last()
        .wired.directory.list()
        .some(({ name }) => name === agent)
      if (!isListed) await newest().catch(() => {})
    },
  }
}

/** Includes the number of bodies: a body that could not be read may be readable later, in the same generation. */
const versionOf = ({ number, sources }: PluginSnapshot): string =>
  `${number}:${Object.keys(sources).length}`

/** The parts of one generation that are wired when a call names them. */
interface NamedParts extends MoreTools {
  readonly offersOf: (ids: readonly string[]) => Promise<Offers>
}

/** Wires a part with its needs, once a generation. A missing part is looked for again: it may have been added since. */
function createNamedParts({
  around,
  search,
  findable,
  build,
}: Pick<GenerationsDeps<WiredAgents>, 'around' | 'search' | 'findable' | 'build'>): NamedParts {
  const entries = new Map<string, ToolEntry>()
  const known = new Set<string>()
  const wireParts = async (ids: readonly string[]): Promise<void> => {
    const missing = ids.filter((id) => !known.has(id))
    if (missing.length === 0) return
    const wired = build(await around(missing))
    for (const id of missing) {
      const owner = wired.ownerOf(id)
      if (!owner) continue
      known.add(id)
      if (owner.isHidden) continue
      for (const entry of owner.entries) entries.set(entry.tool.name, entry)
    }
  }
  return {
    search,
    own: findable,
    ready: (names) => wireParts([...new Set(names.map(ownerOf))]),
    entry: (name) => entries.get(name),
    owns: (id) => [...entries.keys()].some((name) => ownerOf(name) === id),
    async offersOf(ids) {
      const { resources, prompts } = build(await around(ids)).directory.offers()
      const isAsked = ({ owner }: { readonly owner: string }) => ids.includes(owner)
      return { resources: resources.filter(isAsked), prompts: prompts.filter(isAsked) }
    },
  }
}
