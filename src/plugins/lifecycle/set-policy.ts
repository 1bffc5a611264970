import type { Generation } from '#contracts/plugin-catalog.ts'
import { defaultToolPolicy, policyDiff, type ToolPolicy } from '#contracts/tool-policy.ts'
import type { Outcome } from './changes.ts'

/** Another policy over the same plugins: a generation of its own, with what is different on the record. */
export function setPolicy(
  policy: ToolPolicy,
  { installed, bundled, policy: before = defaultToolPolicy }: Generation,
): Outcome {
  const { added, removed } = policyDiff(before, policy)
  const isSame = added.length + removed.length === 0
  return {
    rows: [],
    ...(!isSame && { generation: { installed, bundled, policy } }),
    told: { type: 'policy_changed', data: { added, removed } },
    notes: isSame
      ? ['This is the policy already.']
      : [...added.map((line) => `+ ${line}`), ...removed.map((line) => `- ${line}`)],
  }
}
