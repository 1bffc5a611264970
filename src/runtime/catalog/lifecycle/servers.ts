import { IsolaError } from '#contracts/errors.ts'
import type { McpDecisions } from '../types/mcp-administration.ts'
import type { DecidingPart, PartKindEntry, PartOutcome } from '../types/part-kind.ts'

/** Remote servers, as their room decides; none can be added where there is no such room. */
export const mcpKind = (servers: McpDecisions | undefined): PartKindEntry<'mcp'> => ({
  kind: 'mcp',
  refuse(id, { isServer }) {
    if (!isServer) return
    const message = `id: "${id}" is that of a remote MCP server, which it would displace. Choose another id in plugin.yaml, or take the server away: isola mcp remove ${id}`
    throw new IsolaError('request_conflict', message, { param: 'id' })
  },
  claims(change) {
    if (change.do !== 'mcp') return undefined
    if (change.mcp.do === 'add') return change.mcp.config.id
    return change.mcp.do === 'enable' ? change.mcp.id : undefined
  },
  decide: (change, { generation, by }) =>
    change.do === 'mcp' ? decided(servers, change.mcp, { generation, by }) : undefined,
  async restore({ target }) {
    if (!servers) return { notes: [] }
    const { mcp, servers: rows, notes, regained } = await servers.restore(target)
    const told = { regainedServers: regained }
    return { pins: { mcp }, servers: rows, notes, ...(regained.length > 0 && { told }) }
  },
  sources: ({ hash }) => [hash],
  epoch: ({ epoch }) => epoch,
  wire: () => 'by name',
})

async function decided(
  servers: McpDecisions | undefined,
  change: Parameters<McpDecisions['decide']>[0],
  { generation, by }: Pick<DecidingPart, 'generation' | 'by'>,
): Promise<PartOutcome> {
  if (!servers) throw new IsolaError('request_unavailable', 'There are no MCP servers here.')
  const { mcp, ...outcome } = await servers.decide(change, generation, by)
  return {
    ...outcome,
    ...(mcp && { pins: { mcp } }),
    ...(change.do === 'remove' && { removed: { kind: 'mcp' as const, id: change.id } }),
  }
}
