import { IsolaError } from '#contracts/errors.ts'
import type { McpDecisions, DecidingPart, PartKindEntry, PartOutcome } from '../types/part-kind.ts'
import { policyOf, type Generation } from '../types/generation.ts'
import { maxOpenHosts } from '#runtime/kernel/types/network-rule.ts'
import type { NetworkChange } from '../types/plugin-catalog.ts'
import { isReachableHost } from '../types/permit.ts'
import { ownerOf } from '../types/skill.ts'
import { policyDiff, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

/** Remote servers, as their room decides; none can be added where there is no such room. */
export const mcpKind = (servers: McpDecisions | undefined): PartKindEntry<'mcp'> => ({
  kind: 'mcp',
  refuse(id, { isServer }) {
    if (!isServer) return
    const message =
      `id: "${id}" is that of a remote MCP server, which it would displace. Choose another id in ` +
      `plugin.yaml, or take the server away: isola mcp remove ${id}`
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

/**
 * Which tools may be called. Going back to an earlier generation keeps the policy, unless the operator asks for that
 * one.
 */
export const policyKind: PartKindEntry<'policy'> = {
  kind: 'policy',
  // Async, so that a refusal is a rejection.
  decide(change, { generation }) {
    if (change.do === 'policy') return (async () => setPolicy(change.policy, generation))()
    if (change.do === 'network') return (async () => setNetwork(change, generation))()
    return undefined
  },
  async restore({ target, now, withPolicy }) {
    if (!withPolicy) return { notes: [] }
    const { added, removed } = policyDiff(policyOf(now), policyOf(target))
    const policy = { added, removed }
    return { pins: pinned(policyOf(target)), told: { policy }, notes: [] }
  },
  sources: () => [],
  needs: ({ policy }) => [...new Set(policy.pinned.map(ownerOf))],
  epoch: () => 0,
  wire: () => 'always',
}

const pinned = (policy: ToolPolicy) => ({ policy: [{ id: 'policy' as const, policy }] })

/** Sets another policy over the same plugins: a generation of its own, with the changed lines on the record. */
function setPolicy(policy: ToolPolicy, now: Generation): PartOutcome {
  const { added, removed, lines } = policyDiff(policyOf(now), policy)
  const isSame = lines.length === 0
  return {
    ...(!isSame && { pins: pinned(policy) }),
    told: { type: 'policy_changed', data: { added, removed } },
    notes: isSame ? ['This is the policy already.'] : lines,
  }
}

/** Opens and closes hosts in the policy in force and keeps the rest of it: two operators at once lose nothing. */
function setNetwork({ allow, deny, elsewhere }: NetworkChange, now: Generation): PartOutcome {
  const policy = policyOf(now)
  const { network } = policy
  const unknown = deny.filter((host) => !network.hosts.includes(host))
  for (const [index, host] of allow.entries()) refuseUnreachable(host, index)
  const hosts = [...new Set([...network.hosts, ...allow])].filter((host) => !deny.includes(host))
  if (hosts.length > maxOpenHosts) {
    const message =
      `allow: there would be ${hosts.length} hosts, and ${maxOpenHosts} may be open. Close some (isola ` +
      'http deny), or open a domain: *.example.com'
    throw new IsolaError('request_invalid', message, { param: 'allow' })
  }
  const next = { hosts: hosts.toSorted(), elsewhere: elsewhere ?? network.elsewhere }
  const outcome = setPolicy({ ...policy, network: next }, now)
  return {
    ...outcome,
    notes: [...outcome.notes, ...unknown.map((host) => `${host} was not allowed.`)],
  }
}

/** Refuses a host that egress never reaches: in the list it would look reachable. */
function refuseUnreachable(host: string, index: number): void {
  if (isReachableHost(host)) return
  const param = `allow[${index}]`
  const message =
    `${param}: ${host} is not public: no call reaches a private address, or a name of a machine's own ` +
    'network, whatever is open.'
  throw new IsolaError('request_invalid', message, { param })
}
