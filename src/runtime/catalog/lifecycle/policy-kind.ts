import { IsolaError } from '#contracts/errors.ts'
import { policyOf, type Generation } from '../types/generation.ts'
import { maxOpenHosts } from '#runtime/kernel/types/network-rule.ts'
import type { PartKindEntry, PartOutcome } from '../types/part-kind.ts'
import type { NetworkChange } from '../types/plugin-catalog.ts'
import { isReachableHost } from '../types/public-host.ts'
import { ownerOf } from '../types/tool-name.ts'
import { policyDiff, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

/** Which tools may be called. Going back to an earlier generation keeps the policy, unless the operator asks for that one. */
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
    const message = `allow: there would be ${hosts.length} hosts, and ${maxOpenHosts} may be open. Close some (isola http deny), or open a domain: *.example.com`
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
  const message = `${param}: ${host} is not public: no call reaches a private address, or a name of a machine's own network, whatever is open.`
  throw new IsolaError('request_invalid', message, { param })
}
