import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { Offers } from '#contracts/manifest/offer.ts'
import type { MoreTools, ToolEntry } from '#contracts/tool.ts'
import { ownerOf } from '#contracts/tool-name.ts'
import type { AgentCatalog } from './agent-directory.ts'

/** Where parts are looked up by name, and how they are wired. */
export interface MoreToolsDeps {
  /** What every run has, and the parts of these ids with all that they need. */
  readonly around: (ids: readonly string[]) => Promise<PluginSnapshot>
  readonly search: MoreTools['search']
  readonly own?: MoreTools['own']
  readonly build: (snapshot: PluginSnapshot) => AgentCatalog
}

/** What one generation has by name, beside what is wired from the start. */
export interface NamedParts extends MoreTools {
  readonly offersOf: (ids: readonly string[]) => Promise<Offers>
}

/**
 * Looks parts up when somebody names them: a part is wired with what it needs, once in a generation. What was not there
 * is looked for again the next time, since it may have come.
 */
export function createNamedParts({ around, search, own, build }: MoreToolsDeps): NamedParts {
  const entries = new Map<string, ToolEntry>()
  const wired = new Set<string>()
  const load = async (ids: readonly string[]): Promise<void> => {
    const missing = ids.filter((id) => !wired.has(id))
    if (missing.length === 0) return
    const catalog = build(await around(missing))
    for (const id of missing) {
      const owner = catalog.ownerOf(id)
      if (!owner) continue
      wired.add(id)
      if (owner.isHidden) continue
      for (const entry of owner.entries) entries.set(entry.tool.name, entry)
    }
  }
  return {
    search,
    ...(own && { own }),
    ready: (names) => load([...new Set(names.map(ownerOf))]),
    entry: (name) => entries.get(name),
    owns: (id) => [...entries.keys()].some((name) => ownerOf(name) === id),
    async offersOf(ids) {
      const { resources, prompts } = build(await around(ids)).directory.offers()
      const isAsked = ({ owner }: { readonly owner: string }) => ids.includes(owner)
      return { resources: resources.filter(isAsked), prompts: prompts.filter(isAsked) }
    },
  }
}
