import { unlimited, type Limits } from '#contracts/lease.ts'

/** The given limits; every other dimension is unlimited. */
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
