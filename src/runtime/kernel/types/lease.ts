import type { Amount, Usage, LeaseRefusal, Limits } from '#contracts/lease.ts'
import { combined, unlimited, defaultMaxOutputTokens } from '#contracts/lease.ts'
import type { EventData } from '#contracts/event.ts'
import type { ToolOwner } from '#contracts/tool.ts'

export const minus = (a: Amount, b: Amount): Amount => combined(a, b, -1)

/** A reserved part of what may be spent. `id` names it towards the ledger that gave it. */
export interface Lease {
  readonly id: string
  readonly amount: Amount
}

/** The rest of a limit. An unlimited amount stays unlimited. */
export const besides = (limit: number, spent: number): number =>
  limit >= unlimited ? unlimited : Math.max(0, limit - spent)

type ModelBill = Pick<Usage, 'inputTokens' | 'outputTokens' | 'costNanoUsd'>

/** An estimate of one more model call: its input is a little longer, and its answer may be far longer. */
export const callAfter = (last?: ModelBill, maxOutputTokens = defaultMaxOutputTokens) => ({
  tokens: last ? Math.ceil((last.inputTokens + last.outputTokens) * 1.25) + maxOutputTokens : 0,
  costNanoUsd: last ? Math.ceil(last.costNanoUsd * 2.5) : 0,
})

type Reservation =
  | { readonly ok: true; readonly lease: Lease }
  | { readonly ok: false; readonly refusal: LeaseRefusal }

/**
 * Reserves before work, settles after it. At every moment `settled + reserved ≤ limits` in every dimension,
 * except where a bill came out higher than its reservation (then nothing more is given).
 *
 * Synchronous on purpose: read, await, write would lose updates.
 * @see docs/design.md section 6, invariant 3
 */
export interface Ledger {
  readonly limits: Limits
  readonly reserve: (amount: Partial<Amount>) => Reservation
  /** Returns the unspent part of a lease. True if more was spent than reserved (an overrun, which is booked). */
  readonly settle: (lease: Lease, spent: Partial<Amount>) => boolean
  /** Books spending that had no reservation, such as a request lost in a crash. */
  readonly charge: (spent: Partial<Amount>) => void
  readonly left: () => Required<Amount>
  readonly reserved: () => Amount
  readonly settled: () => Amount
}

/** The owner of a request to a model: a turn, or a tool's code. */
export type ModelRequestOf = ToolOwner & Pick<EventData<'model_called'>, 'turn' | 'request'>

/** The outcome of a failed attempt. */
export interface FailedAttempt extends Pick<
  EventData<'model_failed'>,
  'code' | 'partialChars' | 'durationMs'
> {
  readonly isSent: boolean
  readonly isBilled: boolean
}
