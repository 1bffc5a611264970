import type { Approvals, Policy, RateLimiter, ToolHooks } from '#contracts/policy.ts'

/**
 * The gates whose rooms are not built yet: they are in the pipeline and let everything pass. What an agent may
 * call is already decided by its toolset.
 */
export const openPolicy: {
  readonly policy: Policy
  readonly rates: RateLimiter
  readonly hooks: ToolHooks
  readonly approvals: Approvals
} = {
  policy: { decide: () => ({ allow: true }) },
  rates: { take: () => ({ allow: true }) },
  hooks: { before: async () => ({ veto: false }), after: async (_subject, result) => result },
  approvals: { isNeeded: () => false },
}
