import { unlimited } from '#contracts/lease.ts'
import type { AgentManifest } from './manifest.ts'
import type { Limits } from '#contracts/lease.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'

const nanoPerUsd = 1_000_000_000

/** A price of a manifest in our words; nothing said is no limit. */
export const toNanoUsd = (costUsd: number | undefined): number =>
  costUsd === undefined ? unlimited : Math.round(costUsd * nanoPerUsd)

/** The `limits` of a manifest as `Limits`; an absent one has its default (Y13). */
export function toLimits(limits: AgentManifest['limits']): Limits {
  const defaults = defaultAgentLimits
  return {
    maxTokens: limits.max_tokens_per_invocation,
    maxCostNanoUsd: toNanoUsd(limits.max_cost_usd),
    ...(limits.max_platform_usd !== undefined && {
      maxPlatformNanoUsd: toNanoUsd(limits.max_platform_usd),
    }),
    maxTimeMs: limits.time_budget_ms,
    maxTurns: limits.max_turns,
    maxToolCalls: limits.max_tool_calls ?? defaults.maxToolCalls,
    maxChildren: limits.max_children ?? defaults.maxChildren,
    maxDepth: limits.max_depth ?? defaults.maxDepth,
    maxConcurrency: limits.max_concurrency ?? defaults.maxConcurrency,
  }
}
