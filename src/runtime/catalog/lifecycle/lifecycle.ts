import {
  exposureDiff,
  withoutOwner,
  withoutSkill,
  type Exposure,
  exposureOf,
  type Generation,
  noGeneration,
} from '../types/generation.ts'
import type {
  PartKindEntry,
  PartOutcome,
  PartKinds,
  DecidingPart,
  McpDecisions,
} from '../types/part-kind.ts'
import { bundledKind, pluginKind, type PluginKindDeps } from './plugin-kind.ts'
import { mcpKind, policyKind } from './policy-kind.ts'
import { skillKind, type SkillKindDeps } from './skill-kind.ts'
import type { HookPoint } from '../types/permit.ts'
import type {
  ChangeBy,
  ChangeResult,
  PluginChange,
  AskedFacts,
  PluginStore,
} from '../types/plugin-catalog.ts'
import { disable } from './allow.ts'
import { idOf, ownerIdOf, createChangeWriter, type Writing } from './changes.ts'
import { decide } from './decide.ts'
import { keepNames, type NamesKept } from './names.ts'
import { createProof, type ProveDeps } from './prove.ts'
import { sinceFor } from './quota.ts'
import { findEarlier } from './restore.ts'
import { toView } from './view.ts'

const pinned = (exposed: Exposure) => ({ exposure: [{ id: 'exposure' as const, exposed }] })

/** Sets another exposure over the same plugins: a generation of its own, with the changed lines on the record. */
function setExposure(exposed: Exposure, now: Generation): PartOutcome {
  const { added, removed, lines } = exposureDiff(exposureOf(now), exposed)
  const isSame = lines.length === 0
  return {
    ...(!isSame && { pins: pinned(exposed) }),
    told: { type: 'exposure_changed', data: { added, removed } },
    notes: isSame ? ['This is offered already.'] : lines,
  }
}

/** The kind of the exposure to MCP clients. Going back to an earlier generation does not change it. */
const exposureKind: PartKindEntry<'exposure'> = {
  kind: 'exposure',
  decide: (change, { generation }) =>
    change.do === 'expose' ? Promise.resolve(setExposure(change.exposed, generation)) : undefined,
  restore: async () => ({ notes: [] }),
  // Removes the exposure of a removed plugin, server or skill: a later one of the same name is not exposed by it.
  left({ kind, id }, now) {
    const without = kind === 'skill' ? withoutSkill : withoutOwner
    const exposed = without(exposureOf(now), id)
    const { removed } = exposureDiff(exposureOf(now), exposed)
    if (removed.length === 0) return undefined
    return {
      pins: pinned(exposed),
      told: { unexposed: removed },
      notes: removed.map((line) => `No longer offered at /mcp: ${line}`),
    }
  },
  sources: () => [],
  epoch: () => 0,
  wire: () => 'always',
}

interface KindsDeps extends PluginKindDeps, Omit<SkillKindDeps, keyof PluginKindDeps> {
  /** Decides changes of remote MCP servers; none are possible if absent. */
  readonly servers?: McpDecisions | undefined
}

/**
 * The table of what can be installed. A new kind is one more line here, and its pin in
 * `runtime/catalog/types/generation.ts`.
 */
export const createKinds = (deps: KindsDeps): PartKinds => ({
  plugin: pluginKind(deps),
  bundled: bundledKind(deps),
  mcp: mcpKind(deps.servers),
  policy: policyKind,
  exposure: exposureKind,
  skill: skillKind(deps),
})

/** The stores of plugins, and the port that tries out code. */
export interface LifecycleDeps
  extends Omit<KindsDeps, 'proven'>, Pick<ProveDeps, 'around' | 'tryOut'> {
  readonly store: PluginStore
}

/** The set in force as the Catalog object stores it, and the ports that are called while a change is written. */
export interface ChangePorts extends Pick<DecidingPart, 'inForce'> {
  /** The set in force, as far as the change may touch it; all of it is read if absent. */
  readonly before?: Generation
  /** Called when another set is about to be written. */
  readonly begin?: () => void
  /** Receives the set in force from now on. */
  readonly wrote?: (generation: Generation) => void
  /** Names of the installed plugins; read if absent. */
  readonly names?: NamesKept
}

/** Isola itself, where no operator asked for the change. */
const isolaItself: ChangeBy = { principal: '', trace: '', requestId: '', mayEnable: true }

/**
 * Decides changes of the enabled set, tries them out, and writes them. Refusals are thrown, with `plugin_` or
 * `request_` codes.
 */
export function createPluginLifecycle(deps: LifecycleDeps) {
  const { store, clock } = deps
  const { placeOf, write, refuse } = createChangeWriter(deps)
  const current = async (): Promise<Generation> => (await store.generation()) ?? noGeneration
  const installedIds = async () => [...deps.bundledIds(), ...(await store.ids())]
  const proven = createProof(deps)
  const kinds = createKinds({ ...deps, proven })

  const written = async (
    outcome: PartOutcome,
    { begin, wrote, ...writing }: Pick<ChangePorts, 'begin' | 'wrote'> & Writing,
  ) => {
    if (outcome.isRehearsal) return { generation: writing.before, after: { versions: [] } }
    // The change leaves the pins as they are: no reader has to wait, nor read them again if the write fails.
    if (!outcome.pins) return write(outcome, writing)
    begin?.()
    const done = await write(outcome, writing)
    wrote?.(done.generation)
    return done
  }
  /** The pins in force before a change: the object's own copy, or all of them from D1. */
  const situationOf = async ({ before, inForce }: ChangePorts) =>
    before ? { before, inForce } : { before: await current(), inForce: undefined }

  return {
    kinds,
    current,
    /** Ids of all that is installed, or ships with the deployment. */
    installedIds,
    /** Makes a change. Throws a refusal, which is recorded too. */
    change: async (
      change: PluginChange,
      by: ChangeBy,
      ports: ChangePorts = {},
    ): Promise<ChangeResult> => {
      const id = idOf(change)
      const { names = keepNames(installedIds) } = ports
      const carryOut = async () => {
        const asked = askedBy(change, by, clock.nowMs())
        const [facts, notes] = await Promise.all([store.facts(asked), notesOn(change, names)])
        const { inForce, ...from } = await situationOf(ports)
        const now = { generation: from.before, inForce, facts, by }
        const outcome = await decide({ store, kinds }, change, now)
        const done = await written(outcome, { ...ports, ...from, by, view: id })
        names.wrote(outcome.rows ?? [])
        return { outcome: { ...outcome, notes: [...notes, ...outcome.notes] }, ...done }
      }
      const { outcome, generation, after } = await carryOut().catch(async (error: unknown) => {
        names.forget()
        // The refusal is recorded. If the record cannot be written, the refusal still stands.
        await refuse(change, by, error).catch(() => {})
        throw error
      })
      // The caller does not wait for this copy.
      if (outcome.bundle) void deps.bundles.copy(outcome.bundle.hash, outcome.bundle.text)
      return {
        generation: generation.number,
        ...(after.row && { plugin: toView(after.row, after.versions) }),
        notes: outcome.notes,
      }
    },
    /** Switches a plugin off that keeps failing. */
    async trip(id: string, hash: string, why: string, ports: ChangePorts = {}): Promise<void> {
      const facts = await store.facts({ id })
      const { row } = facts
      if (row?.hash !== hash || row.state !== 'enabled') return
      const last = await findEarlier(store, row)
      const message = `${why}${last ? ` Version ${last.version} was there before: isola plugin rollback ${id}` : ''}`
      const problem = { code: 'plugin_keeps_failing', message }
      // Without its hooks, the calls that they guard would be allowed. So the plugin stays enabled, those calls are
      // denied, and the plugin is listed.
      if (row.permit?.hooks.some(({ on }) => decidingPoints.has(on))) {
        const data = { plugin: id, hash, ...problem, isKept: true as const }
        const event = { type: 'plugin_tripped', ...placeOf(isolaItself), data } as const
        await store.commit({ rows: [{ ...row, problem }], event })
        return
      }
      const from = await situationOf(ports)
      const outcome = disable({ row, generation: from.before, by: isolaItself }, problem)
      await written(outcome, { ...ports, ...from, by: isolaItself })
    },
  }
}

/** Decides changes and writes them. One writer at a time calls it, so that no other change comes between. */
export type PluginLifecycle = ReturnType<typeof createPluginLifecycle>

/** Notes a name that is easily taken for another plugin's. No change is refused for it. */
const notesOn = async (change: PluginChange, names: NamesKept): Promise<readonly string[]> =>
  change.do === 'add' ? (await names.all()).like(change.plugin.id) : []

/** The facts that a change needs. The author's usage only counts if a version is added. */
const askedBy = (change: PluginChange, { principal }: ChangeBy, nowMs: number): AskedFacts => ({
  id: ownerIdOf(change),
  hash: change.do === 'add' ? change.plugin.hash : 'hash' in change ? change.hash : undefined,
  usageOf: brings(change) ? { principal, sinceMs: sinceFor(nowMs) } : undefined,
})

const brings = (change: PluginChange): boolean =>
  change.do === 'add' || (change.do === 'skill' && change.skill.do === 'add')

/** Hooks that can refuse. An absent hook allows, so losing such a hook widens rights. */
const decidingPoints: ReadonlySet<string> = new Set<HookPoint>([
  'beforeDispatch',
  'beforeModelCall',
  'beforeToolCall',
  'afterToolCall',
])
