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
import type { PluginChange, PluginRow } from '../types/plugin-catalog.ts'
import { skillOf } from '../types/skill-catalog.ts'

/** The outcome of a change of a plugin: always with its rows. */
export interface Outcome extends PartOutcome {
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
