import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type {
  BundleStore,
  ChangeBy,
  ChangeResult,
  Generation,
  PluginChange,
  PluginPin,
  PluginSnapshot,
  PluginSource,
  PluginStore,
} from '#contracts/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { add } from './add.ts'
import { checkPluginId } from '../install/plugin-names.ts'
import { disable, enable, grant, present, remove, revoke } from './allow.ts'
import { without, type Outcome, type Situation } from './changes.ts'
import { restore, rollback } from './restore.ts'
import { setPolicy } from './set-policy.ts'
import { toView } from './view.ts'
import type { PluginFacts } from '../isolate/isolate-host.ts'

export interface LifecycleDeps {
  readonly store: PluginStore
  readonly bundles: BundleStore
  readonly clock: Clock
  /** Ids of the plugins that ship with the deployment. */
  readonly bundledIds: ReadonlySet<string>
  /** Takes away what a plugin keeps outside of sessions. */
  readonly purge: (id: string) => Promise<void>
  /** Loads the set as a session would, and has this plugin's code registered; throws `plugin_…` saying why not. */
  readonly tryOut: (snapshot: PluginSnapshot, pin: PluginPin) => Promise<PluginFacts>
}

/** One writer at a time calls this: what it decides from is what is there. */
export interface PluginLifecycle {
  readonly current: () => Promise<Generation>
  readonly sourceOf: (hash: string) => Promise<PluginSource>
  /** The answer, and the set that is enabled from now on. Throws what was refused; that is on the record too. */
  readonly change: (
    change: PluginChange,
    by: ChangeBy,
  ) => Promise<{ readonly result: ChangeResult; readonly generation: Generation }>
  /** Switches a plugin off that keeps failing. */
  readonly trip: (id: string, hash: string, why: string) => Promise<Generation | undefined>
}

export const noGeneration: Generation = { number: 0, installed: [], bundled: {} }

/** Who acts where nobody asked. */
const isolaItself: ChangeBy = { principal: '', trace: '', requestId: '', mayEnable: true }

export function createPluginLifecycle(deps: LifecycleDeps): PluginLifecycle {
  const { store, bundles, clock } = deps
  const current = async (): Promise<Generation> => (await store.generation()) ?? noGeneration
  const sourceOf = async (hash: string): Promise<PluginSource> => {
    const { manifest, files } = JSON.parse(await bundles.load(hash)) as PluginSource
    return { manifest, files }
  }

  /** One event for a change, whether it took place or was refused. */
  const eventOf = (type: DeploymentEventType, { principal, trace, requestId }: ChangeBy) => ({
    type,
    principal,
    trace,
    atMs: clock.nowMs(),
    about: (data: JsonObject) => ({ ...data, ...(requestId !== '' && { request: requestId }) }),
  })

  const write = async (outcome: Outcome, before: Generation, by: ChangeBy): Promise<Generation> => {
    const { about, ...event } = eventOf(outcome.event, by)
    const number = before.number + 1
    const next = outcome.generation && {
      number,
      installed: withKnownFacts(outcome.generation.installed, before),
      bundled: outcome.generation.bundled,
    }
    await store.commit({
      rows: outcome.rows,
      ...(outcome.version && { version: outcome.version }),
      ...(next && { generation: { ...next, reason: outcome.event } }),
      event: { ...event, data: about({ ...outcome.data, ...(next && { generation: number }) }) },
    })
    return next ?? before
  }

  const refuse = async (change: PluginChange, by: ChangeBy, error: unknown): Promise<void> => {
    const { about, ...event } = eventOf('plugin_refused', by)
    const code = errorCode(error)
    if (code === undefined || code === 'request_unavailable') return
    const data = { asked: change.do, plugin: idOf(change) ?? '', code, why: errorMessage(error) }
    await store.commit({ rows: [], event: { ...event, data: about(data) } })
  }

  /** What would be enabled is tried first: a plugin that cannot start does not go live. */
  const proven = async (outcome: Outcome, before: Generation): Promise<Outcome> => {
    const fresh = (outcome.generation?.installed ?? []).filter(
      (pin) => !before.installed.some(({ id, hash }) => id === pin.id && hash === pin.hash),
    )
    if (fresh.length === 0 || !outcome.generation) return outcome
    const { installed } = outcome.generation
    const sources = await Promise.all(
      installed.map(
        async ({ hash }) => [hash, await sourceOf(hash).catch(() => undefined)] as const,
      ),
    )
    const found = sources.flatMap(([hash, source]) => (source ? [[hash, source] as const] : []))
    const next = { number: before.number + 1, ...outcome.generation }
    const snapshot: PluginSnapshot = { ...next, sources: Object.fromEntries(found) }
    const facts = new Map<string, PluginFacts>()
    for (const pin of fresh) facts.set(pin.hash, await deps.tryOut(snapshot, pin))
    const told = installed.map((pin) => ({ ...pin, ...facts.get(pin.hash) }))
    return { ...outcome, generation: { ...outcome.generation, installed: told } }
  }

  return {
    current,
    sourceOf,
    async change(change, by) {
      const before = await current()
      try {
        const outcome = await decide(deps, change, { before, by, proven })
        const generation = await write(outcome, before, by)
        if (change.do === 'remove' && change.purge) await deps.purge(change.id)
        const id = idOf(change)
        const row = id === undefined ? undefined : await store.find(id)
        const result = {
          generation: generation.number,
          ...(row && id !== undefined && { plugin: toView(row, await store.versions(id)) }),
          notes: outcome.notes,
        }
        return { result, generation }
      } catch (error) {
        // That it was refused is on the record; if that cannot be written, the refusal still stands.
        await refuse(change, by, error).catch(() => {})
        throw error
      }
    },
    async trip(id, hash, why) {
      const generation = await current()
      const row = await store.find(id)
      if (row?.hash !== hash || row.state !== 'enabled') return undefined
      const last = (await store.versions(id)).find((version) => version.hash !== hash)
      const message = `${why}${last ? ` Version ${last.version} was there before: isola plugin rollback ${id}` : ''}`
      const problem = { code: 'plugin_keeps_failing', message }
      return write(disable({ row, generation, by: isolaItself }, problem), generation, isolaItself)
    },
  }
}

/** What was found out when a version was enabled holds for as long as it is. */
function withKnownFacts(pins: readonly PluginPin[], before: Generation): readonly PluginPin[] {
  return pins.map((pin) => {
    const known = before.installed.find(({ hash }) => hash === pin.hash)?.runsOwnAgent
    return known === undefined ? pin : { runsOwnAgent: known, ...pin }
  })
}

const idOf = (change: PluginChange): string | undefined =>
  change.do === 'add' ? change.plugin.id : 'id' in change ? change.id : undefined

interface Deciding {
  readonly before: Generation
  readonly by: ChangeBy
  readonly proven: (outcome: Outcome, before: Generation) => Promise<Outcome>
}

async function decide(
  deps: LifecycleDeps,
  change: PluginChange,
  { before: generation, by, proven }: Deciding,
): Promise<Outcome> {
  const { store, bundledIds } = deps
  if (change.do === 'policy') return setPolicy(change.policy, generation)
  if (change.do === 'restore') return proven(await restore(store, change, generation), generation)
  const row = await store.find(idOf(change) ?? '')
  const situation: Situation = { row, generation, by }
  switch (change.do) {
    case 'add': {
      checkPluginId(change.plugin.id, bundledIds)
      const outcome = add(change.plugin, situation, change.allowDowngrade ?? false)
      return proven(outcome, generation).catch((error: unknown) => stays(outcome, situation, error))
    }
    case 'grant':
      return grant(change, situation)
    case 'revoke':
      return revoke(situation)
    case 'enable':
      return proven(enable(change.config, situation), generation).catch((error: unknown) =>
        cannotStart(deps, situation, error),
      )
    case 'disable':
      return disable(situation)
    case 'rollback':
      return proven(await rollback(store, situation), generation)
    case 'remove':
      return remove(situation)
  }
}

/** A new version that does not start leaves the one before in its place. */
function stays(outcome: Outcome, { row }: Situation, error: unknown): Outcome {
  if (!errorCode(error)?.startsWith('plugin_')) throw error
  const why = `It does not start, so version ${row?.version} goes on: ${errorMessage(error)}`
  const { generation: _notYet, ...rest } = outcome
  return { ...rest, rows: [], notes: [...outcome.notes, why] }
}

/** It stays off, and the reason is in the list. */
async function cannotStart(
  { store, clock }: LifecycleDeps,
  situation: Situation,
  error: unknown,
): Promise<never> {
  const code = errorCode(error)
  if (code?.startsWith('plugin_')) {
    const row = present(situation)
    const problem = { code, message: errorMessage(error) }
    const state = row.state === 'enabled' ? 'disabled' : row.state
    const { principal, trace } = situation.by
    const generation = row.state === 'enabled' ? without(situation.generation, row.id) : undefined
    const number = situation.generation.number + 1
    await store.commit({
      rows: [{ ...row, state, problem }],
      ...(generation && { generation: { number, ...generation, reason: 'plugin_tripped' } }),
      event: {
        type: 'plugin_tripped',
        principal,
        trace,
        atMs: clock.nowMs(),
        data: { plugin: row.id, hash: row.hash, ...problem },
      },
    })
  }
  throw error
}
