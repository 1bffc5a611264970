import * as z from 'zod'
import { confidentiality, integrity, sink } from '#contracts/label.ts'
import { exposureSchema } from '#runtime/catalog/types/generation.ts'
import { elsewhere, maxOpenHosts, openHosts } from '#runtime/kernel/types/network-rule.ts'
import { toolPolicySchema } from '#runtime/kernel/types/tool-policy.ts'
import { refuseHidden } from '#contracts/visible-text.ts'

const dryRun = z.boolean().optional().describe('Nothing is changed: what would be different.')

/** `POST /api/operator/policy`: the whole policy. */
export const setPolicyRequest = z.strictObject({
  policy: toolPolicySchema.superRefine(refuseHidden('line')),
  dryRun,
})

/** Defaults to the worst label, as everything unlabelled does: a stranger's and private. */
const testSource = z.strictObject({
  from: z.string().min(1).max(300),
  integrity: integrity.default('stranger'),
  confidentiality: confidentiality.default('private'),
})

/** `POST /api/operator/policy/test`: a call that is not made. */
export const testPolicyRequest = z.strictObject({
  tool: z.string().min(1).max(100),
  agent: z.string().min(1).max(200).default('orchestrator'),
  principal: z.string().min(1).max(200).default('operator'),
  /** Label of what the caller had read before; without it the label rules are skipped. As bad as its worst source. */
  label: z
    .strictObject({
      integrity: integrity.default('user'),
      confidentiality: confidentiality.default('said'),
      sources: z.array(testSource).max(17).default([]),
    })
    .optional(),
  /** The sinks of the tool; by default those of the agent's tool, or none. */
  sinks: z.array(sink).max(5).optional(),
  /** The call's destination, for a tool that takes an address. */
  url: z
    .url({ protocol: /^https?$/ })
    .max(8_192)
    .optional(),
})

/** `POST /api/operator/exposed`: the whole choice. */
export const setExposedRequest = z.strictObject({
  exposed: exposureSchema.superRefine(refuseHidden('line')),
  dryRun,
})

/** `POST /api/operator/http`. */
export const changeNetworkRequest = z.strictObject({
  allow: openHosts.default([]),
  // Not limited to valid hosts: any entry of the list can be removed.
  deny: z.array(z.string().trim().toLowerCase().max(253)).max(maxOpenHosts).default([]),
  elsewhere: elsewhere.optional(),
})
