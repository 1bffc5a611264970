import { pinsOf, withoutPin, withPin, type Generation, type Pins } from '#contracts/generation.ts'
import type { PartOutcome } from '#contracts/part-kind.ts'
import type { ChangeBy, PluginChange, PluginRow } from '#contracts/plugin-catalog.ts'

/** What a change of a plugin comes to: always with its rows. */
export interface Outcome extends PartOutcome {
  readonly rows: readonly PluginRow[]
}

/** Everything a change of a plugin is decided from. */
export interface Situation {
  readonly row: PluginRow | undefined
  readonly generation: Generation
  readonly by: ChangeBy
}

/** What is enabled without a plugin. */
export const without = (generation: Generation, id: string): Pins => ({
  plugin: withoutPin(pinsOf(generation, 'plugin'), id),
})

/** What is enabled with a row of an installed plugin in it, as the row is. */
export function withRow(generation: Generation, row: PluginRow): Pins {
  const { id, hash, version, tier, permit, grantEpoch, config } = row
  if (tier === 'builtin' || !permit) return without(generation, id)
  const pin = { id, hash, version, tier, permit, grantEpoch, config }
  return { plugin: withPin(pinsOf(generation, 'plugin'), pin) }
}

/** What is enabled with a plugin of the deployment switched. */
export const switched = (
  generation: Generation,
  id: string,
  state: 'enabled' | 'disabled',
): Pins => ({ bundled: withPin(pinsOf(generation, 'bundled'), { id, state }) })

/** The plugin that a change is about. */
export const idOf = (change: PluginChange): string | undefined =>
  change.do === 'add' ? change.plugin.id : 'id' in change ? change.id : undefined
