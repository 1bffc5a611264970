import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { HookPoint } from '#contracts/manifest.ts'
import { isSamePermit } from '#contracts/permit.ts'
import { toCanonicalJson } from '#contracts/plugin-bundle.ts'
import type {
  BundleStore,
  ChangeBy,
  ChangeResult,
  Generation,
  PluginChange,
  PluginPin,
  PluginSnapshot,
  PluginSource,
} from '#contracts/plugin-catalog.ts'
import { disable } from './allow.ts'
import { idOf, type Outcome } from './changes.ts'
import { decide, type DecideDeps } from './decide.ts'
import { findEarlier } from './restore.ts'
import { toView } from './view.ts'
import type { PluginFacts } from '../isolate/isolate-host.ts'

export interface LifecycleDeps extends DecideDeps {
  readonly bundles: BundleStore
  /** Loads the set as a session would, and has this plugin's code registered; throws `plugin_…` saying why not. */
  readonly tryOut: (snapshot: PluginSnapshot, pin: PluginPin) => Promise<PluginFacts>
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

export const noGeneration: Generation = { number: 0, installed: [], bundled: {} }

/** Who acts where nobody asked. */
const isolaItself: ChangeBy = { principal: '', trace: '', requestId: '', mayEnable: true }

export function createPluginLifecycle(deps: LifecycleDeps): PluginLifecycle {
  const { store, bundles, clock } = deps
  const current = async (): Promise<Generation> => (await store.generation()) ?? noGeneration
  const sourceOf = async (hash: string): Promise<PluginSource> => {
    return toSource(JSON.parse(await bundles.load(hash)) as PluginSource)
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
    const { policy, exposed, mcp = before.mcp } = outcome.generation ?? {}
    const next = outcome.generation && {
      number,
      installed: withKnownFacts(outcome.generation.installed, before),
      bundled: outcome.generation.bundled,
      ...(policy && { policy }),
      ...(mcp && { mcp }),
      ...(exposed && { exposed }),
    }
    const { plugin, server } = outcome.data
    const reason = [outcome.event, plugin ?? server]
      .filter((one) => typeof one === 'string')
      .join(' ')
    await store.commit({
      rows: outcome.rows,
      ...(outcome.version && { version: outcome.version }),
      ...(outcome.servers && { servers: outcome.servers }),
      ...(next && { generation: { ...next, reason } }),
      event: { ...event, data: about({ ...outcome.data, ...(next && { generation: number }) }) },
    })
    return next ?? before
  }

  const refuse = async (change: PluginChange, by: ChangeBy, error: unknown): Promise<void> => {
    const { about, ...event } = eventOf('plugin_refused', by)
    const code = errorCode(error)
    if (code === undefined || code === 'request_unavailable') return
    const data = { ...askedOf(change), code, why: errorMessage(error) }
    await store.commit({ rows: [], event: { ...event, data: about(data) } })
  }

  /** What would be enabled is tried first: a plugin that cannot start does not go live. */
  const proven = async (outcome: Outcome, before: Generation): Promise<Outcome> => {
    const fresh = (outcome.generation?.installed ?? []).filter(
      (pin) => !before.installed.some((was) => isSameToStart(was, pin)),
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
        const { about, ...event } = eventOf('plugin_tripped', isolaItself)
        const data = about({ plugin: id, hash, ...problem, isKept: true })
        await store.commit({ rows: [{ ...row, problem }], event: { ...event, data } })
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

/** What was found out when a version was enabled holds for as long as it is. */
function withKnownFacts(pins: readonly PluginPin[], before: Generation): readonly PluginPin[] {
  return pins.map((pin) => {
    const known = before.installed.find(({ hash }) => hash === pin.hash)?.runsOwnAgent
    return known === undefined ? pin : { runsOwnAgent: known, ...pin }
  })
}

/** Where a hook may say no: one that is gone says yes. */
const decidingPoints: ReadonlySet<string> = new Set<HookPoint>([
  'beforeDispatch',
  'beforeModelCall',
  'beforeToolCall',
  'afterToolCall',
])

/** Whether a pin would start as it did: another permit or configuration may not. */
const isSameToStart = (was: PluginPin, { id, hash, config, permit }: PluginPin): boolean =>
  was.id === id &&
  was.hash === hash &&
  toCanonicalJson(was.config) === toCanonicalJson(config) &&
  isSamePermit(was.permit, permit)

/** What was asked for, on the record. */
const askedOf = (change: PluginChange): JsonObject =>
  change.do === 'mcp'
    ? {
        asked: `mcp ${change.mcp.do}`,
        server: change.mcp.do === 'add' ? change.mcp.config.id : change.mcp.id,
      }
    : { asked: change.do, plugin: idOf(change) ?? '' }
