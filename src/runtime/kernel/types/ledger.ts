import type { Amount, LeaseRefusal, Limits } from '#contracts/lease.ts'
import type { Lease } from './lease.ts'

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
