import type { Approvals, Policy, RateLimiter, ToolHooks } from '#runtime/kernel/types/policy.ts'

/**
 * Gates that let everything pass, for an agent that a host embeds in its own process (`src/embedded/agent.ts`): there is no
 * Catalog to ask. What it may call is decided by the tools it was given.
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
  approvals: { isNeeded: ({ asks }) => (asks ? {} : false) },
}
