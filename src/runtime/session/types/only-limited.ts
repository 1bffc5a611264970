import { unlimited, type Limits } from '#contracts/lease.ts'

/** What was asked for as a limit of its own, as limits that hold nothing else back. */
export const onlyLimited = (some: Partial<Limits> = {}): Limits => ({ ...noLimits, ...some })

const noLimits: Required<Limits> = {
  maxTokens: unlimited,
  maxCostNanoUsd: unlimited,
  maxPlatformNanoUsd: unlimited,
  maxTimeMs: unlimited,
  maxTurns: unlimited,
  maxToolCalls: unlimited,
  maxChildren: unlimited,
  maxDepth: unlimited,
  maxConcurrency: unlimited,
}
