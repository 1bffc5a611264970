import { unlimited, type Limits } from './lease.ts'

/** The defaults of a manifest agent's `limits` (Y13). */
export const defaultAgentLimits: Limits = {
  maxTokens: 50_000,
  maxCostNanoUsd: unlimited,
  maxTimeMs: 120_000,
  maxTurns: 10,
  maxToolCalls: 50,
  maxChildren: 16,
  maxDepth: 4,
  maxConcurrency: 8,
}

/** The orchestrator's own: a million tokens and 15 minutes of active time. */
export const orchestratorLimits: Limits = {
  ...defaultAgentLimits,
  maxTokens: 1_000_000,
  maxTimeMs: 900_000,
  maxTurns: 100,
  maxToolCalls: 500,
  maxChildren: 100,
}
