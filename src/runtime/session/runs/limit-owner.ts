import { unlimited, type Limits } from '#contracts/lease.ts'
import { onlyLimited } from '../types/only-limited.ts'
import type { OwnedLimit } from '../log/limit-text.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { leftOfSession } from './run-limits.ts'

export interface LimitOwnerOptions {
  readonly row: () => RunRow
  readonly store: SessionStore
  /** What the run's agent may. */
  readonly own: Limits
}

/** Tells by the amount which of the limits of a run is the one in force: it is the least of them. */
export const createLimitOwner =
  ({ row, store, own }: LimitOwnerOptions) =>
  (limit: keyof Limits, allowed: number): OwnedLimit => {
    const { changed, submission } = row()
    const { lineage, limits, begunBy } = submission
    if (lineage) return { of: 'caller' }
    if (changed?.limits[limit] === allowed) return { of: 'run' }
    if (limits?.[limit] === allowed) return { of: 'request' }
    if (own[limit] === allowed) return { of: 'agent' }
    const session = store.session()?.limits?.[limit] ?? unlimited
    const left = onlyLimited(leftOfSession(row(), store))[limit] ?? unlimited
    if (left === allowed)
      return { of: 'session', session: { allowed: session, spent: session - left } }
    // What is left of the request whose outcomes began it, or of the day.
    return { of: begunBy && limits?.[limit] !== undefined ? 'request' : 'day' }
  }
