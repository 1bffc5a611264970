import type { Approvals, Policy, RateLimiter, ToolHooks } from '#runtime/kernel/types/policy.ts'

/**
 * Gates that let every call pass, for an agent that a host embeds in its own process (`src/embedded/agent.ts`), where
 * no Catalog exists. The host limits its calls by the tools it hands in.
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
