import type { DeploymentDraft } from '#contracts/event.ts'
import type { McpServerRow } from '#contracts/mcp.ts'
import type {
  ChangeBy,
  Generation,
  NewPluginVersion,
  PluginChange,
  PluginRow,
} from '#contracts/plugin-catalog.ts'

/** What a change comes to, before any of it is written. */
export interface Outcome {
  readonly rows: readonly PluginRow[]
  readonly version?: NewPluginVersion
  /** Rows of MCP servers. */
  readonly servers?: readonly McpServerRow[]
  /** Absent if what is enabled stays as it is. */
  readonly generation?: Pick<Generation, 'installed' | 'bundled' | 'policy' | 'mcp' | 'exposed'>
  /** What the record says of it. */
  readonly told: DeploymentDraft
  readonly notes: readonly string[]
}

/** Everything a change is decided from. */
export interface Situation {
  readonly row: PluginRow | undefined
  readonly generation: Generation
  readonly by: ChangeBy
}

/** The enabled set without a plugin. */
export const without = (
  { installed, bundled }: Generation,
  id: string,
): Pick<Generation, 'installed' | 'bundled'> => ({
  installed: installed.filter((pin) => pin.id !== id),
  bundled,
})

/** The enabled set with a row of an installed plugin in it, as the row is. */
export function withRow(
  generation: Generation,
  row: PluginRow,
): Pick<Generation, 'installed' | 'bundled'> {
  const { installed, bundled } = without(generation, row.id)
  const { id, hash, version, tier, permit, grantEpoch, config } = row
  if (tier === 'builtin' || !permit) return { installed, bundled }
  const pin = { id, hash, version, tier, permit, grantEpoch, config }
  return { installed: [...installed, pin].sort((a, b) => (a.id < b.id ? -1 : 1)), bundled }
}

/** The enabled set with a plugin of the deployment switched. */
export const switched = (
  { installed, bundled }: Generation,
  id: string,
  state: 'enabled' | 'disabled',
): Pick<Generation, 'installed' | 'bundled'> => ({
  installed,
  bundled: { ...bundled, [id]: state },
})

/** The plugin that a change is about. */
export const idOf = (change: PluginChange): string | undefined =>
  change.do === 'add' ? change.plugin.id : 'id' in change ? change.id : undefined
