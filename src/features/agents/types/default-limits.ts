import type { Limits } from '#contracts/lease.ts'
import { defaultAgentLimits } from '#contracts/default-limits.ts'

/** The orchestrator's own: a million tokens and 15 minutes of active time. */
export const orchestratorLimits: Limits = {
  ...defaultAgentLimits,
  maxTokens: 1_000_000,
  maxTimeMs: 900_000,
  maxTurns: 100,
  maxToolCalls: 500,
  maxChildren: 100,
}
