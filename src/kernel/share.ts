import { narrower, unlimited, type Amount, type Limits } from '#contracts/lease.ts'

export interface ShareOptions {
  readonly limits: Limits
  readonly left: Amount
  /** One more model call of the caller, so that it can still answer. */
  readonly finalCall: { readonly tokens: number; readonly costNanoUsd: number }
  /** How many calls this turn makes. */
  readonly calls: number
  readonly timeLeftMs: number
}

/**
 * The most one call of this turn may spend: what the caller has left less one final model call, divided by the
 * calls of the turn. All calls of a turn get the same share, whichever asks first.
 * @see DESIGN.md section 6
 */
export function shareOf({ limits, left, finalCall, calls, timeLeftMs }: ShareOptions): Limits {
  const each = (amount: number) => Math.max(0, Math.floor(amount / calls))
  return {
    maxTokens: each(left.tokens - finalCall.tokens),
    maxCostNanoUsd:
      limits.maxCostNanoUsd >= unlimited
        ? unlimited
        : each(left.costNanoUsd - finalCall.costNanoUsd),
    maxTurns: each(left.turns - 1),
    maxToolCalls: each(left.toolCalls - calls),
    maxChildren: each(left.children - calls),
    maxTimeMs: Math.max(0, timeLeftMs),
    maxDepth: limits.maxDepth - 1,
    maxConcurrency: Math.max(1, Math.floor(limits.maxConcurrency / calls)),
  }
}

/** What a call that may spend as much as `spends` gets of its turn's share, and what that takes out of the run's lease. */
export function leaseFor(spends: Limits, share: Limits) {
  const grant = narrower(spends, share)
  const amount: Amount = {
    tokens: grant.maxTokens,
    costNanoUsd: grant.maxCostNanoUsd < unlimited ? grant.maxCostNanoUsd : 0,
    turns: grant.maxTurns,
    toolCalls: 1 + grant.maxToolCalls,
    children: 1 + grant.maxChildren,
  }
  return { grant, amount }
}
