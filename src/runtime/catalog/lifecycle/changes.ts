import {
  pinOf,
  pinsOf,
  withoutPin,
  withPin,
  type Generation,
  type Pins,
  type PluginPin,
} from '../types/generation.ts'
import type { DecidingPart, PartOutcome } from '../types/part-kind.ts'
import type {
  PluginChange,
  PluginRow,
  ChangeBy,
  PluginAfter,
  PluginStore,
} from '../types/plugin-catalog.ts'
import { skillOf } from '../types/skill-catalog.ts'
import { defined } from '#contracts/defined.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { withData, type DeploymentEventPlace, type DeploymentDraft } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'

/** The outcome of a change of a plugin: always with its rows. */
export interface PluginOutcome extends PartOutcome {
  readonly rows: readonly PluginRow[]
}

/** Everything a change of a plugin is decided from. */
export interface Situation extends Pick<DecidingPart, 'generation' | 'inForce' | 'by'> {
  readonly row: PluginRow | undefined
}

/** The enabled plugins without this one. */
export const without = (generation: Generation, id: string): Pins => ({
  plugin: withoutPin(pinsOf(generation, 'plugin'), id),
})

/** The enabled plugins with the current row of an installed plugin. */
export function withRow(generation: Generation, row: PluginRow): Pins {
  const pin = toPin(row, pinOf(generation, 'plugin', row.id))
  return pin ? { plugin: withPin(pinsOf(generation, 'plugin'), pin) } : without(generation, row.id)
}

/**
 * The pin of a row; undefined for a plugin of the deployment or without a permit. The facts that enabling a version
 * found out stay valid while that version is pinned.
 */
export function toPin(row: PluginRow, known: PluginPin | undefined): PluginPin | undefined {
  const { id, hash, version, tier, permit, grantEpoch, config, toldHash } = row
  if (tier === 'builtin' || !permit) return undefined
  const runsOwnAgent = known?.hash === hash ? known.runsOwnAgent : undefined
  const isTold = toldHash === hash ? ({ isTold: true } as const) : {}
  const pin = { id, hash, version, tier, permit, grantEpoch, config, ...isTold }
  return runsOwnAgent === undefined ? pin : { ...pin, runsOwnAgent }
}

/** The pins with a plugin of the deployment switched. */
export const switched = (
  generation: Generation,
  id: string,
  state: 'enabled' | 'disabled',
): Pins => ({ bundled: withPin(pinsOf(generation, 'bundled'), { id, state }) })

/** The plugin that a change is about. */
export const idOf = (change: PluginChange): string | undefined =>
  change.do === 'add' ? change.plugin.id : 'id' in change ? change.id : undefined

/** The plugin, server or skill that a change is about. */
export function ownerIdOf(change: PluginChange): string | undefined {
  if (change.do === 'skill') return skillOf(change.skill)
  if (change.do !== 'mcp') return idOf(change)
  return change.mcp.do === 'add' ? change.mcp.config.id : change.mcp.id
}

/** The generation before a change, and the principal that makes it. */
export interface Writing {
  readonly before: Generation
  readonly by: ChangeBy
  /** The plugin to report after the write. */
  readonly view?: string | undefined
}

interface Wrote {
  /** The pins in force from now on, as far as the pins before were known. */
  readonly generation: Generation
  readonly after: PluginAfter
}

/** Writes the outcome of a change together with its event: the next generation, or the refusal. */
export function createChangeWriter({
  store,
  clock,
}: {
  readonly store: PluginStore
  readonly clock: Clock
}) {
  /** The caller and the time of an event. */
  const placeOf = ({ principal, trace }: ChangeBy): DeploymentEventPlace => {
    return { principal, trace, atMs: clock.nowMs() }
  }

  const write = async (outcome: PartOutcome, { before, by, view }: Writing): Promise<Wrote> => {
    const number = before.number + 1
    const next = outcome.pins && {
      number,
      pins: { ...before.pins, ...outcome.pins },
    }
    const { told, rows = [], version, bundle, servers, skills, skillVersion } = outcome
    const reason = [told.type, ownerOf(told)].filter(Boolean).join(' ')
    const event = withData(told, { ...(next && { generation: number }), ...requestOf(by) })
    const after = await store.commit({
      rows,
      ...defined({ version, bundle, servers, skills, skillVersion }),
      ...(next && { generation: { ...next, before, reason } }),
      event: { ...event, ...placeOf(by) },
      view,
    })
    return { generation: next ?? before, after }
  }

  const refuse = async (change: PluginChange, by: ChangeBy, error: unknown): Promise<void> => {
    const code = errorCode(error)
    if (code === undefined || code === 'request_unavailable') return
    const data = { ...askedOf(change), code, why: errorMessage(error), ...requestOf(by) }
    await store.commit({ rows: [], event: { type: 'plugin_refused', ...placeOf(by), data } })
  }

  return { placeOf, write, refuse }
}

const requestOf = ({ requestId }: ChangeBy) => (requestId === '' ? {} : { request: requestId })

/** The plugin, server or skill that a change is about. */
function ownerOf({ data }: DeploymentDraft): unknown {
  if ('plugin' in data) return data.plugin
  if ('skill' in data) return data.skill
  return 'server' in data ? data.server : undefined
}

/** The requested change, as the record has it. */
function askedOf(change: PluginChange) {
  switch (change.do) {
    case 'mcp': {
      const { mcp } = change
      return { asked: `mcp ${mcp.do}`, server: mcp.do === 'add' ? mcp.config.id : mcp.id }
    }
    case 'skill':
      return { asked: `skill ${change.skill.do}`, skill: skillOf(change.skill) }
    default:
      return { asked: change.do, plugin: idOf(change) ?? '' }
  }
}

/** The refusal of a version that is not kept; `request_not_found`. */
export const noVersion = (id: string): IsolaError =>
  new IsolaError('request_not_found', `hash: no version of "${id}" has it.`, { param: 'hash' })

/** The refusal of an author who did not bring the part; `request_forbidden`. */
export const notYours = (param: 'id' | 'name', id: string): IsolaError => {
  const message = `${param}: "${id}" was brought by somebody else; an operator adds its next version.`
  return new IsolaError('request_forbidden', message, { param })
}
