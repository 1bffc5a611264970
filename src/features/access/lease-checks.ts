import type { PrincipalTiming } from '#runtime/session/types/principal.ts'
import type { PieceAnswer, RunSpending } from '#runtime/session/types/submission.ts'
import type { LeaseRow, PrincipalRows } from './principal-rows.ts'
import { adopt, isPiece } from './day-pieces.ts'

const maxPauseMs = 3_600_000

/** Which open reservations a sweep asks about, when, and how the answer changes them. */
export type LeaseChecks = ReturnType<typeof createLeaseChecks>

/** Asks about an open reservation, at growing intervals while its run goes on. */
export function createLeaseChecks(
  rows: PrincipalRows,
  options: Pick<PrincipalTiming, 'sweepEveryMs'> & {
    readonly settle: (
      run: string,
      spent: RunSpending['usage'],
      nowMs: number,
      step: number | undefined,
    ) => void
  },
) {
  const { sweepEveryMs, settle } = options
  return {
    /** When a sweep is to look again, epoch milliseconds; `undefined` if no reservation is open. */
    nextMs(nowMs: number): number | undefined {
      const times = rows.leases().map((lease) => nextCheck(lease, nowMs))
      return times.length === 0 ? undefined : Math.min(...times)
    },
    /**
     * The reservations whose session is to be asked now. A reservation that a sweep meets for the first time waits for
     * the next sweep: its run may not be written yet, and no clock says how old it is (docs/reliability.md F29).
     */
    start(nowMs: number): readonly LeaseRow[] {
      const due = rows.leases().filter((lease) => nextCheck(lease, nowMs) <= nowMs)
      const met = due.filter((lease) => lease.checks === 0 && !isPiece(lease))
      if (met.length > 0)
        rows.together(() => met.forEach(({ run }) => rows.checkLater(run, nowMs + sweepEveryMs)))
      return due.filter((lease) => lease.checks > 0 || isPiece(lease))
    },
    /** Takes the session's answer about a piece that was called back; `undefined` if the session did not answer. */
    back(piece: string, answer: PieceAnswer | undefined, nowMs: number): void {
      if (!rows.lease(piece)) return
      rows.together(() => {
        if (!answer) return rows.checkLater(piece, nowMs + sweepEveryMs)
        const { run, spending } = answer
        if (run === undefined || !spending) return rows.closeLease(piece)
        adopt(rows, { piece, run, nextCheckMs: nowMs + sweepEveryMs })
        const isSettled = spending.state === 'over' || spending.state === 'parked'
        if (isSettled) settle(run, spending.usage, nowMs, spending.step)
      })
    },
    /** Takes the session's answer about such a run; `undefined` if the session did not answer. */
    finish(run: string, spending: RunSpending | undefined, nowMs: number): void {
      const lease = rows.lease(run)
      // Settled meanwhile, or settled and reserved again: the session's answer is older than that.
      if (!lease || lease.checks === 0) return
      rows.together(() => {
        const isSettled = spending?.state === 'over' || spending?.state === 'parked'
        if (isSettled) settle(run, spending.usage, nowMs, spending.step)
        else if (spending?.state === 'unknown') rows.closeLease(run)
        // The reservation is still open if the run went on after it was asked.
        if (rows.lease(run)) rows.checkLater(run, nowMs + pauseAfter(lease, spending, sweepEveryMs))
      })
    },
  }
}

/** A clock that was set back must not delay a check by more than the longest pause (docs/reliability.md F29). */
const nextCheck = ({ nextCheckMs }: LeaseRow, nowMs: number): number =>
  nextCheckMs > nowMs + maxPauseMs ? nowMs : Math.max(nextCheckMs, nowMs)

/** Asks ever less often about a run that goes on or is parked for days: each question wakes its session. */
function pauseAfter(
  { checks }: LeaseRow,
  spending: RunSpending | undefined,
  sweepEveryMs: number,
): number {
  return spending ? Math.min(sweepEveryMs * 2 ** checks, maxPauseMs) : sweepEveryMs
}
