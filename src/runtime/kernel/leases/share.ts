import { narrower, unlimited, zeroAmount, type Amount, type Limits } from '#contracts/lease.ts'
import type { ToolEntry } from '#contracts/tool.ts'

/** At most `count` at a time. */
export function createSlots(count: number) {
  const waiting: (() => void)[] = []
  let free = count
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

export interface ShareOptions {
  readonly limits: Limits
  readonly left: Amount
  /** The cost of one more turn of the caller, so that it can still answer. */
  readonly finalCall: Pick<Amount, 'tokens' | 'costNanoUsd' | 'platformNanoUsd'>
  /** How many calls this turn makes. */
  readonly calls: number
  readonly timeLeftMs: number
}

/**
 * The most one call of this turn may spend: the caller's rest less one final turn, divided by the calls of the turn.
 * All calls of a turn get the same share, in whatever order they begin.
 * @see docs/design.md section 6
 */
export function shareOf({ limits, left, finalCall, calls, timeLeftMs }: ShareOptions): Limits {
  const each = (amount: number) => Math.max(0, Math.floor(amount / calls))
  const ofLimit = (limit = unlimited, rest: number) => (limit < unlimited ? each(rest) : unlimited)
  return {
    maxTokens: each(left.tokens - finalCall.tokens),
    maxCostNanoUsd: ofLimit(limits.maxCostNanoUsd, left.costNanoUsd - finalCall.costNanoUsd),
    maxPlatformNanoUsd: ofLimit(
      limits.maxPlatformNanoUsd,
      (left.platformNanoUsd ?? 0) - (finalCall.platformNanoUsd ?? 0),
    ),
    maxTurns: each(left.turns - 1),
    maxToolCalls: each(left.toolCalls - calls),
    maxChildren: each(left.children - calls),
    maxTimeMs: Math.max(0, timeLeftMs),
    maxDepth: limits.maxDepth - 1,
    maxConcurrency: Math.max(1, Math.floor(limits.maxConcurrency / calls)),
  }
}

/** How many children a call counts as that may itself spend. */
export const widthOf = ({ inner }: ToolEntry): number => inner?.children ?? 1

/**
 * A call's part of its turn's share, and the amount that this takes from the run's lease: more than one call if the
 * tool may spend.
 */
export function leaseFor(entry: ToolEntry, share: Limits) {
  if (!entry.spends) {
    const costNanoUsd = Math.min(entry.feeNanoUsd ?? 0, share.maxCostNanoUsd)
    return { limits: share, amount: { ...zeroAmount, toolCalls: 1, costNanoUsd } }
  }
  const limits = narrower(entry.spends, share)
  const { maxCostNanoUsd, maxPlatformNanoUsd = unlimited } = limits
  const amount: Amount = {
    tokens: limits.maxTokens,
    costNanoUsd: maxCostNanoUsd < unlimited ? maxCostNanoUsd : 0,
    ...(maxPlatformNanoUsd < unlimited && { platformNanoUsd: maxPlatformNanoUsd }),
    turns: limits.maxTurns,
    toolCalls: 1 + limits.maxToolCalls,
    children: widthOf(entry) + limits.maxChildren,
  }
  return { limits, amount }
}
