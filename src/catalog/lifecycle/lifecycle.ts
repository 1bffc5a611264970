import { noGeneration, type Generation } from '#contracts/generation.ts'
import type { HookPoint } from '#contracts/manifest.ts'
import type { PartKinds, PartOutcome } from '#contracts/part-kind.ts'
import type {
  ChangeBy,
  ChangeResult,
  PluginChange,
  PluginStore,
} from '#contracts/plugin-catalog.ts'
import { disable } from './allow.ts'
import { idOf } from './changes.ts'
import { decide } from './decide.ts'
import { createKinds, type KindsDeps } from './kinds.ts'
import { createProof, type ProveDeps } from './prove.ts'
import { findEarlier } from './restore.ts'
import { toView } from './view.ts'
import { createChangeWriter } from './write-change.ts'

/** What is kept of plugins, and how code is tried out. */
export interface LifecycleDeps
  extends Omit<KindsDeps, 'proven'>, Pick<ProveDeps, 'around' | 'tryOut'> {
  readonly store: PluginStore
}

/** The generation in force for whoever holds it, and when something of it is about to be written. */
export interface ChangePorts {
  /** What is in force; read if absent. */
  readonly before?: Generation
  /** Called when another set is about to be written. */
  readonly begin?: () => void
  /** What is in force from now on. */
  readonly wrote?: (generation: Generation) => void
}

/** One writer at a time calls this: what it decides from is what is there. */
export interface PluginLifecycle {
  readonly kinds: PartKinds
  readonly current: () => Promise<Generation>
  /** Throws what was refused; that is on the record too. */
  readonly change: (
    change: PluginChange,
    by: ChangeBy,
    ports?: ChangePorts,
  ) => Promise<ChangeResult>
  /** Switches a plugin off that keeps failing. */
  readonly trip: (id: string, hash: string, why: string, ports?: ChangePorts) => Promise<void>
}

/** Who acts where nobody asked. */
const isolaItself: ChangeBy = { principal: '', trace: '', requestId: '', mayEnable: true }

/** Decides changes of what is enabled, tries them out, and writes them. Refusals are thrown, with `plugin_` or `request_` codes. */
export function createPluginLifecycle(deps: LifecycleDeps): PluginLifecycle {
  const { store } = deps
  const { placeOf, write, refuse } = createChangeWriter(deps)
  const current = async (): Promise<Generation> => (await store.generation()) ?? noGeneration
  const proven = createProof(deps)
  const kinds = createKinds({ ...deps, proven })

  const written = async (
    outcome: PartOutcome,
    {
      before,
      by,
      begin,
      wrote,
    }: ChangePorts & { readonly before: Generation; readonly by: ChangeBy },
  ): Promise<Generation> => {
    // What is in force stays as it is: nobody has to wait, nor read it again if this fails.
    if (!outcome.pins) return write(outcome, before, by)
    begin?.()
    const generation = await write(outcome, before, by)
    wrote?.(generation)
    return generation
  }

  return {
    kinds,
    current,
    async change(change, by, ports = {}) {
      const before = ports.before ?? (await current())
      const carryOut = async () => {
        const outcome = await decide({ store, kinds }, change, { before, by })
        return { outcome, generation: await written(outcome, { ...ports, before, by }) }
      }
      const { outcome, generation } = await carryOut().catch(async (error: unknown) => {
        // That it was refused is on the record; if that cannot be written, the refusal still stands.
        await refuse(change, by, error).catch(() => {})
        throw error
      })
      const id = idOf(change)
      const row = id === undefined ? undefined : await store.find(id)
      return {
        generation: generation.number,
        ...(row && id !== undefined && { plugin: toView(row, await store.versions(id)) }),
        notes: outcome.notes,
      }
    },
    async trip(id, hash, why, ports = {}) {
      const before = ports.before ?? (await current())
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
      const outcome = disable({ row, generation: before, by: isolaItself }, problem)
      await written(outcome, { ...ports, before, by: isolaItself })
    },
  }
}

/** Where a hook may say no: one that is gone says yes. */
const decidingPoints: ReadonlySet<string> = new Set<HookPoint>([
  'beforeDispatch',
  'beforeModelCall',
  'beforeToolCall',
  'afterToolCall',
])
