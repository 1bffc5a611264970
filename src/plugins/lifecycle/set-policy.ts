import { policyOf, type Generation } from '#contracts/generation.ts'
import type { PartKindEntry, PartOutcome } from '#contracts/part-kind.ts'
import { policyDiff, type ToolPolicy } from '#contracts/tool-policy.ts'
import { setNetwork } from './set-network.ts'

const pinned = (policy: ToolPolicy) => ({ policy: [{ id: 'policy' as const, policy }] })

/** Another policy over the same plugins: a generation of its own, with what is different on the record. */
export function setPolicy(policy: ToolPolicy, now: Generation): PartOutcome {
  const { added, removed } = policyDiff(policyOf(now), policy)
  const isSame = added.length + removed.length === 0
  return {
    ...(!isSame && { pins: pinned(policy) }),
    told: { type: 'policy_changed', data: { added, removed } },
    notes: isSame
      ? ['This is the policy already.']
      : [...added.map((line) => `+ ${line}`), ...removed.map((line) => `- ${line}`)],
  }
}

/** Which tools may be called: it stays as it is where plugins go back, unless the operator asks for that of then. */
export const policyKind: PartKindEntry<'policy'> = {
  kind: 'policy',
  decide(change, { generation }) {
    if (change.do === 'policy') return toOutcome(() => setPolicy(change.policy, generation))
    if (change.do === 'network') return toOutcome(() => setNetwork(change, generation))
    return undefined
  },
  async restore({ then, now, withPolicy }) {
    if (!withPolicy) return { notes: [] }
    const policy = policyDiff(policyOf(now), policyOf(then))
    return { pins: pinned(policyOf(then)), told: { policy }, notes: [] }
  },
  sources: () => [],
  epoch: () => 0,
  wire: () => 'always',
}

/** What is refused is a rejection. */
const toOutcome = async (decided: () => PartOutcome): Promise<PartOutcome> => decided()
