import { policyOf } from '../types/generation.ts'
import type { PartKindEntry, PartOutcome } from '../types/part-kind.ts'
import { ownerOf } from '#contracts/tool-name.ts'
import { policyDiff } from '#runtime/kernel/types/tool-policy.ts'
import { setNetwork } from './set-network.ts'
import { pinned, setPolicy } from './set-policy.ts'

/** Which tools may be called: it stays as it is where plugins go back, unless the operator asks for that of then. */
export const policyKind: PartKindEntry<'policy'> = {
  kind: 'policy',
  decide(change, { generation }) {
    if (change.do === 'policy') return toOutcome(() => setPolicy(change.policy, generation))
    if (change.do === 'network') return toOutcome(() => setNetwork(change, generation))
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
  binds: () => true,
  wire: () => 'always',
}

/** What is refused is a rejection. */
const toOutcome = async (decided: () => PartOutcome): Promise<PartOutcome> => decided()
