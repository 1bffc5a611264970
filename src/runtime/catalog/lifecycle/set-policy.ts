import { policyOf, type Generation } from '../types/generation.ts'
import type { PartOutcome } from '../types/part-kind.ts'
import { policyDiff, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

/** A policy as it is pinned. */
export const pinned = (policy: ToolPolicy) => ({ policy: [{ id: 'policy' as const, policy }] })

/** Another policy over the same plugins: a generation of its own, with what is different on the record. */
export function setPolicy(policy: ToolPolicy, now: Generation): PartOutcome {
  const { added, removed, lines } = policyDiff(policyOf(now), policy)
  const isSame = lines.length === 0
  return {
    ...(!isSame && { pins: pinned(policy) }),
    told: { type: 'policy_changed', data: { added, removed } },
    notes: isSame ? ['This is the policy already.'] : lines,
  }
}
