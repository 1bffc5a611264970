import { IsolaError } from '#contracts/errors.ts'
import { withData } from '#contracts/event.ts'
import type { McpChange } from '#contracts/mcp.ts'
import type { McpDecisions } from '#contracts/mcp-administration.ts'
import type { Generation } from '#contracts/plugin-catalog.ts'
import type { Outcome, Situation } from './changes.ts'

/** A change of remote servers over the same plugins: a generation of its own if what is enabled is another. */
export async function changeServers(
  servers: McpDecisions | undefined,
  change: McpChange,
  { generation, by }: Pick<Situation, 'generation' | 'by'>,
): Promise<Outcome> {
  if (!servers) throw new IsolaError('request_unavailable', 'There are no MCP servers here.')
  const { installed, bundled } = generation
  const { mcp, ...outcome } = await servers.decide(change, generation, by)
  return { ...outcome, rows: [], ...(mcp && { generation: { installed, bundled, mcp } }) }
}

/** The servers of the generation that comes back, with its plugins. */
export async function withServers(
  servers: McpDecisions | undefined,
  then: Generation,
  outcome: Outcome,
): Promise<Outcome> {
  if (!servers || !outcome.generation) return outcome
  const { mcp, servers: rows, notes, regained } = await servers.restore(then)
  return {
    ...outcome,
    servers: rows,
    ...(regained.length > 0 && { told: withData(outcome.told, { regainedServers: regained }) }),
    generation: { ...outcome.generation, mcp },
    notes: [...outcome.notes, ...notes],
  }
}
