import type { PluginSnapshot } from './types/generation.ts'
import { codeModeOff, type PluginProblem } from '#contracts/operations.ts'
import type { ListedTool } from './types/plugin-catalog.ts'
import { ownerOf } from './types/skill.ts'
import type { BuildSearchIndex, SearchHit, SearchIndex } from '#contracts/search.ts'
import type { StoredParts } from './stored-parts.ts'
import { toSnapshot, withNeeds, type NeedsDeps, type WithNeeds } from './part-needs.ts'
import { createDocumentReader, shippedRanking } from './search/read-document.ts'
import { describeOwner, toToolDocument } from './tool-document.ts'

/** A set of parts as a session would wire it. */
export interface WiredParts {
  readonly directory: { readonly tools: () => readonly ListedTool[] }
  /** The tools of one owner. `isHidden`: only agents that name the owner have its tools. */
  readonly ownerOf: (
    id: string,
  ) => { readonly isHidden: boolean; readonly names: readonly string[] } | undefined
  readonly problems: readonly PluginProblem[]
}

export interface ToolIndexDeps {
  readonly kept: StoredParts
  readonly sourceOf: NeedsDeps['sourceOf']
  readonly wire: (snapshot: PluginSnapshot) => WiredParts
  readonly buildIndex: BuildSearchIndex
}

/** The number of parts that are wired at once. */
const chunk = 40

/**
 * The tools of all parts in force. The first search after a part arrived reads its tools and stores them in the
 * object's tables. The search index over them is in memory, one for all sessions.
 */
export function createToolIndex({ kept, sourceOf, wire, buildIndex }: ToolIndexDeps) {
  const find = async (ids: readonly string[]) => kept.named(ids)
  let built: { readonly revision: number; readonly index: SearchIndex } | undefined
  let working: Promise<void> | undefined

  const indexNext = async (ids: readonly string[]): Promise<void> => {
    const sources = onceEach(sourceOf)
    const read = createDocumentReader(shippedRanking.fields)
    const number = kept.number() ?? 0
    const always = kept.always()
    const needs = new Map(
      await Promise.all(
        ids.map(async (id) => {
          const { needed } = await withNeeds({ ids: [id] }, { find, sourceOf: sources })
          return [id, needed] as const
        }),
      ),
    )
    const set = await withNeeds({ parts: always, ids }, { find, sourceOf: sources })
    const wired = wire(toSnapshot(number, set))
    // The set in force changed meanwhile: the next search begins anew.
    if (kept.number() !== number) return
    const about = aboutOf(set)
    const tools = new Map(wired.directory.tools().map((tool) => [tool.name, tool]))
    for (const id of ids) {
      const names = wired.ownerOf(id)?.names ?? []
      const isHidden = wired.ownerOf(id)?.isHidden === true
      kept.tools.put({
        id,
        needs: needs.get(id) ?? [],
        // Left out: problems of an agent with code mode, which depend on another part and are reported where agents are
        // wired.
        problems: wired.problems.filter(
          ({ plugin, code }) => plugin === id && code !== codeModeOff,
        ),
        tools: names
          .flatMap((name) => tools.get(name) ?? [])
          .map((tool) => ({
            tool,
            words: isHidden ? undefined : read(toToolDocument(tool, about(id))),
          })),
      })
    }
  }
  const indexAll = async (): Promise<void> => {
    const ids = kept.tools.missing()
    for (let at = 0; at < ids.length; at += chunk) await indexNext(ids.slice(at, at + chunk))
  }
  /** One indexing at a time, which all callers share. */
  const ready = (): Promise<void> => (working ??= indexAll().finally(() => (working = undefined)))
  return {
    async search(queries: readonly string[], limit: number): Promise<readonly SearchHit[]> {
      await ready()
      const revision = kept.tools.revision()
      if (built?.revision !== revision) {
        const number = kept.number() ?? 0
        const always = await withNeeds({ parts: kept.always() }, { find, sourceOf })
        const wired = wire(toSnapshot(number, always))
        const base = wired.directory
          .tools()
          .filter(({ name }) => !wired.ownerOf(ownerOf(name))?.isHidden)
        const own = new Set(base.map(({ name }) => name))
        const others = kept.tools.searched().filter(({ id }) => !own.has(id))
        const about = aboutOf(always)
        const documents = [
          ...base.map((tool) => toToolDocument(tool, about(ownerOf(tool.name)))),
          ...others,
        ]
        built = { revision, index: buildIndex(documents) }
      }
      return built.index.search(queries, limit)
    },
    async tools(wanted: readonly string[]): Promise<readonly ListedTool[]> {
      await ready()
      const found = new Map(
        wanted.flatMap((one) => kept.tools.like(one)).map((tool) => [tool.name, tool]),
      )
      return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    async toolNames(wanted: readonly string[]): Promise<readonly string[]> {
      await ready()
      return [...new Set(wanted.flatMap(kept.tools.namesLike))].toSorted()
    },
    async problems(): Promise<readonly PluginProblem[]> {
      await ready()
      return kept.tools.problems()
    },
  }
}

/** The description of each part. */
function aboutOf({ parts, sources }: WithNeeds): (id: string) => string {
  const texts = new Map(
    parts.flatMap(({ id, bodies }) =>
      bodies.flatMap((hash) =>
        sources[hash] ? [[id, describeOwner(sources[hash].manifest)]] : [],
      ),
    ) as [string, string][],
  )
  return (id) => texts.get(id) ?? ''
}

/** Reads each body once, however many parts need it, for one pass over the current set. */
function onceEach(sourceOf: NeedsDeps['sourceOf']): NeedsDeps['sourceOf'] {
  const begun = new Map<string, ReturnType<NeedsDeps['sourceOf']>>()
  return (hash) => {
    const source = begun.get(hash) ?? sourceOf(hash)
    begun.set(hash, source)
    return source
  }
}
