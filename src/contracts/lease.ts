import type * as z from 'zod'
import type { limitReached } from './event-fields.ts'
import type { PlatformAmounts, PlatformUnit } from './platform.ts'

/** A sum of zero is left out. It runs several times for each row that a run writes. */
export function plusPlatform(a: PlatformAmounts = {}, b: PlatformAmounts = {}): PlatformAmounts {
  const sums: Partial<Record<PlatformUnit, number>> = {}
  for (const unit of Object.keys({ ...a, ...b }) as PlatformUnit[]) {
    const sum = (a[unit] ?? 0) + (b[unit] ?? 0)
    if (sum !== 0) sums[unit] = sum
  }
  return sums
}

/**
 * The most that a run may spend. All of it is for the whole subtree below the run.
 *
 * Tokens, cost, turns, tool calls, children and the platform's cost add up over the tree; time, depth and concurrency
 * do not.
 * @see docs/design.md section 6
 */
export interface Limits {
  /** Input and output tokens of all model calls together. */
  readonly maxTokens: number
  /** Billionths of a US dollar (integers, so that sums are exact); `unlimited` if not limited. */
  readonly maxCostNanoUsd: number
  /** Active wall-clock time of the run in milliseconds; pauses do not count. */
  readonly maxTimeMs: number
  readonly maxTurns: number
  readonly maxToolCalls: number
  /** Width: how many sub-agents may be started in the subtree. */
  readonly maxChildren: number
  /** The platform's own cost, in billionths of a US dollar; absent if it has no limit. */
  readonly maxPlatformNanoUsd?: number
  /** How many levels below this run; the root is at depth 0. */
  readonly maxDepth: number
  /** Calls running side by side. */
  readonly maxConcurrency: number
}

/** The part of limits that adds up: reserved before work, settled after it. Integers, never negative. */
export interface Amount {
  readonly tokens: number
  readonly costNanoUsd: number
  readonly turns: number
  readonly toolCalls: number
  readonly children: number
  /** The cost of the platform; zero if absent. */
  readonly platformNanoUsd?: number
}

/** The units of model calls. */
export type ModelAmount = Pick<Amount, 'tokens' | 'costNanoUsd'>

/** The amounts that a run and everything below it really spent. */
export interface Usage extends Amount {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly modelCalls: number
  /**
   * Part of `tokens` and `costNanoUsd`: amounts of failed attempts that may have reached a provider. They stay booked
   * until the provider or an operator confirms the real amount.
   */
  readonly unconfirmed?: ModelAmount
  /** Active milliseconds. */
  readonly timeMs: number
  /** The platform's work for it; `platformNanoUsd` is its price. */
  readonly platform?: PlatformAmounts
}

export const zeroAmount: Amount = { tokens: 0, costNanoUsd: 0, turns: 0, toolCalls: 0, children: 0 }

export const combined = (a: Amount, b: Amount, sign: 1 | -1): Amount => ({
  tokens: a.tokens + sign * b.tokens,
  costNanoUsd: a.costNanoUsd + sign * b.costNanoUsd,
  turns: a.turns + sign * b.turns,
  toolCalls: a.toolCalls + sign * b.toolCalls,
  children: a.children + sign * b.children,
  ...((a.platformNanoUsd ?? b.platformNanoUsd) !== undefined && {
    platformNanoUsd: (a.platformNanoUsd ?? 0) + sign * (b.platformNanoUsd ?? 0),
  }),
})
export const plus = (a: Amount, b: Amount): Amount => combined(a, b, 1)

export const zeroUsage: Usage = {
  ...zeroAmount,
  inputTokens: 0,
  outputTokens: 0,
  modelCalls: 0,
  timeMs: 0,
}

const both = (a: ModelAmount = zeroAmount, b: ModelAmount = zeroAmount): ModelAmount => ({
  tokens: a.tokens + b.tokens,
  costNanoUsd: a.costNanoUsd + b.costNanoUsd,
})

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    ...plus(a, b),
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    modelCalls: a.modelCalls + b.modelCalls,
    timeMs: a.timeMs + b.timeMs,
    ...((a.unconfirmed ?? b.unconfirmed) && { unconfirmed: both(a.unconfirmed, b.unconfirmed) }),
    ...((a.platform ?? b.platform) && { platform: plusPlatform(a.platform, b.platform) }),
  }
}

/** Why a reservation was refused: the first dimension that did not fit. */
export interface LeaseRefusal {
  readonly code:
    | 'lease_tokens'
    | 'lease_cost'
    | 'lease_time'
    | 'lease_turns'
    | 'lease_tool_calls'
    | 'lease_children'
    | 'lease_depth'
    | 'lease_platform'
  readonly asked: number
  readonly left: number
}

/**
 * A limit that a run has reached, for the principal that may raise it: the fields of `budget_reached`. Costs in
 * billionths of a US dollar, time in milliseconds.
 */
export type LimitReached = Readonly<z.infer<z.ZodObject<typeof limitReached>>>

/**
 * Where a limit comes from: the agent's, request's or session's limits; a change for the run since; the rest of its
 * principal's day; or the lease that a caller gave its sub-agent.
 */
export type LimitOwner = NonNullable<LimitReached['of']>

/** Stands for no limit; finite, so that it survives JSON and stays exact. */
export const unlimited = Number.MAX_SAFE_INTEGER

/** The smaller of two limits in every dimension; an absent limit allows any amount. */
export const narrower = (a: Limits, b: Partial<Limits>): Limits => ({
  ...a,
  ...Object.fromEntries(
    (Object.keys({ ...a, ...b }) as (keyof Limits)[]) // their own keys, by their type
      .map((name) => [name, Math.min(a[name] ?? unlimited, b[name] ?? unlimited)]),
  ),
})

/** By how much more than the estimate is reserved for a call's input (docs/design.md invariant 3). */
export const inputReserveFactor = 1.25

/** The output cap of a model call in tokens, unless an agent sets one. */
export const defaultMaxOutputTokens = 4_096
