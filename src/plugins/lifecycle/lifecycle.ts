import type { HookPoint } from '#contracts/manifest.ts'
import type {
  BundleStore,
  ChangeBy,
  ChangeResult,
  Generation,
  PluginChange,
  PluginSource,
} from '#contracts/plugin-catalog.ts'
import { disable } from './allow.ts'
import { idOf } from './changes.ts'
import { decide, type DecideDeps } from './decide.ts'
import { createProof, type ProveDeps } from './prove.ts'
import { findEarlier } from './restore.ts'
import { toView } from './view.ts'
import { createChangeWriter } from './write-change.ts'

/** What is kept of plugins, and how code is tried out. */
export interface LifecycleDeps extends DecideDeps, Pick<ProveDeps, 'tryOut'> {
  readonly bundles: BundleStore
}

/** One writer at a time calls this: what it decides from is what is there. */
export interface PluginLifecycle {
  readonly current: () => Promise<Generation>
  readonly sourceOf: (hash: string) => Promise<PluginSource>
  /** Throws what was refused; that is on the record too. */
  readonly change: (
    change: PluginChange,
    by: ChangeBy,
    /** Called when something is about to be written. */
    begin?: () => void,
  ) => Promise<ChangeResult>
  /** Switches a plugin off that keeps failing. */
  readonly trip: (id: string, hash: string, why: string, begin?: () => void) => Promise<void>
}

/** Before anything was ever enabled. */
export const noGeneration: Generation = { number: 0, installed: [], bundled: {} }

/** Who acts where nobody asked. */
const isolaItself: ChangeBy = { principal: '', trace: '', requestId: '', mayEnable: true }

/** Decides changes of what is enabled, tries them out, and writes them. Refusals are thrown, with `plugin_` or `request_` codes. */
export function createPluginLifecycle(deps: LifecycleDeps): PluginLifecycle {
  const { store, bundles, tryOut } = deps
  const { placeOf, write, refuse } = createChangeWriter(deps)
  const current = async (): Promise<Generation> => (await store.generation()) ?? noGeneration
  const sourceOf = async (hash: string): Promise<PluginSource> => {
    return toSource(JSON.parse(await bundles.load(hash)) as PluginSource)
  }
  const proven = createProof({ sourceOf, tryOut })

  const carryOut = async (
    change: PluginChange,
    by: ChangeBy,
    { before, begin }: { readonly before: Generation; readonly begin: (() => void) | undefined },
  ) => {
    const outcome = await decide(deps, change, { before, by, proven })
    begin?.()
    return { outcome, generation: await write(outcome, before, by) }
  }

  return {
    current,
    sourceOf,
    async change(change, by, begin) {
      const before = await current()
      const { outcome, generation } = await carryOut(change, by, { before, begin }).catch(
        async (error: unknown) => {
          // That it was refused is on the record; if that cannot be written, the refusal still stands.
          await refuse(change, by, error).catch(() => {})
          throw error
        },
      )
      const id = idOf(change)
      const row = id === undefined ? undefined : await store.find(id)
      return {
        generation: generation.number,
        ...(row && id !== undefined && { plugin: toView(row, await store.versions(id)) }),
        notes: outcome.notes,
      }
    },
    async trip(id, hash, why, begin) {
      const generation = await current()
      const row = await store.find(id)
      if (row?.hash !== hash || row.state !== 'enabled') return
      const last = await findEarlier(store, row)
      const message = `${why}${last ? ` Version ${last.version} was there before: isola plugin rollback ${id}` : ''}`
      const problem = { code: 'plugin_keeps_failing', message }
      // Without it what it guards would be open: it stays, what it is asked about is denied, and it is listed.
      if (row.permit?.hooks.some(({ on }) => decidingPoints.has(on))) {
        const data = { plugin: id, hash, ...problem, isKept: true as const }
        const event = { type: 'plugin_tripped', ...placeOf(isolaItself), data } as const
        await store.commit({ rows: [{ ...row, problem }], event })
        return
      }
      begin?.()
      await write(disable({ row, generation, by: isolaItself }, problem), generation, isolaItself)
    },
  }
}

/** Only the files that wiring needs: all sources of a generation travel together. */
function toSource({ manifest, files }: PluginSource): PluginSource {
  const { agent } = Object(manifest) as { readonly agent?: { readonly instructions?: unknown } }
  const needed = Object.entries(files).filter(([path]) => path === agent?.instructions)
  return { manifest, files: Object.fromEntries(needed) }
}

/** Where a hook may say no: one that is gone says yes. */
const decidingPoints: ReadonlySet<string> = new Set<HookPoint>([
  'beforeDispatch',
  'beforeModelCall',
  'beforeToolCall',
  'afterToolCall',
])
