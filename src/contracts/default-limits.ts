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
