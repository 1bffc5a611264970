import type {
  PrincipalTiming,
  DayAmount,
  DayLeaseRequest,
  DayUsage,
} from '#runtime/session/types/principal.ts'
import type { RunSpending } from '#runtime/session/types/submission.ts'
import type { LeaseRow, PrincipalRows, ProgressRow } from './principal-rows.ts'
import type { Reply } from '#contracts/reply.ts'
import {
  besides,
  dayOf,
  endOfDayMs,
  grant,
  keptFrom,
  laterDay,
  minus,
  nothing,
  plus,
  sumOf,
  toAmount,
  type Granted,
} from './day.ts'

const maxPauseMs = 3_600_000

/** Which open reservations a sweep asks about, when, and how the answer changes them. */
export type LeaseChecks = ReturnType<typeof createLeaseChecks>

/** Asks about an open reservation, at growing intervals while its run goes on. */
function createLeaseChecks(
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
      const met = due.filter(({ checks }) => checks === 0)
      if (met.length > 0)
        rows.together(() => met.forEach(({ run }) => rows.checkLater(run, nowMs + sweepEveryMs)))
      return due.filter(({ checks }) => checks > 0)
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

/**
 * The days of one principal, in its object: reserves, settles, and frees reservations of runs that never began.
 * Synchronous. Invariant, for every day at every moment: settled + reserved ≤ limit. The exceptions are
 * booked overruns: a run that spent more than it reserved, or a limit that was lowered. After an overrun nothing more
 * is granted. Each verb is one synchronous step, because read, await, write would lose updates.
 *
 * A reservation belongs to one day for good, so that its settlement is booked on that day, across midnight and after
 * a restart. A resumed run with an open reservation may get more of that day. Without an open reservation it reserves
 * from today, because an earlier day may be used up: the amount settled before stays in its day and becomes the base
 * of the run's later figures.
 *
 * Settlements and reservations of a run may arrive in any order. Each names its step; a message of an earlier step
 * than the stored one is late and changes nothing.
 */
export function createDayLedger(
  rows: PrincipalRows,
  { sweepEveryMs, keepUsageDays }: PrincipalTiming,
) {
  const today = (nowMs: number) => laterDay(dayOf(nowMs), rows.lastDay())

  const openDay = (nowMs: number): string => {
    const day = today(nowMs)
    if (rows.lastDay() === day) return day
    rows.openDay(day)
    rows.dropDaysBefore(keptFrom(day, keepUsageDays))
    return day
  }

  const settle = (run: string, spent: DayAmount, nowMs: number, step?: number): void => {
    const known = rows.progress(run)
    if (step !== undefined && step < known.step) return
    const lease = rows.lease(run)
    const before = rows.settled(run)
    const amount = toAmount(minus(toAmount(spent), known.base))
    if (!lease && isSame(before?.amount ?? nothing, amount)) return
    if (lease) rows.closeLease(run)
    // Spending without a reservation is booked too.
    rows.writeSettled({ run, day: lease?.day ?? before?.day ?? openDay(nowMs), amount })
    if (step !== undefined && step > known.step) rows.writeProgress({ ...known, step })
  }

  /**
   * The run was parked while a sub-agent works on: it may ask for more than its reservation once its limit is raised.
   */
  const goOn = (
    open: LeaseRow,
    progress: ProgressRow,
    { asked, limits }: { readonly asked: DayAmount; readonly limits: DayAmount },
  ): DayAmount => {
    const used = plus(rows.settledIn(open.day), reservedIn(open.day, rows.leases()))
    const again = grant(besides(toAmount(asked), progress.base), limits, minus(used, open.amount))
    const amount = again.ok ? toAmount(atLeast(again.amount, open.amount)) : open.amount
    rows.together(() => {
      rows.writeProgress(progress)
      if (isSame(amount, open.amount)) return
      rows.closeLease(open.run)
      rows.openLease({ ...open, amount })
    })
    return amount
  }

  /**
   * The most that a run with a reservation may spend in all: earlier settlements, its reservation, and the rest of
   * its day.
   */
  const mostOf = ({ run, day, amount }: LeaseRow, limits: DayAmount): DayAmount => {
    const used = plus(rows.settledIn(day), reservedIn(day, rows.leases()))
    return toAmount(sumOf([rows.progress(run).base, amount, besides(limits, used)]))
  }

  return {
    reserve(
      { run, session, asked, step = 0 }: DayLeaseRequest,
      limits: DayAmount,
      nowMs: number,
    ): Reply<DayAmount> {
      const known = rows.progress(run)
      const at = Math.max(step, known.step)
      const open = rows.lease(run)
      if (open) {
        let { amount } = open
        if (at > known.step && at > firstStep)
          amount = goOn(open, { ...known, step: at }, { asked, limits })
        return { ok: true, value: toAmount(plus(known.base, amount)) }
      }
      // A resumed run keeps its settled amount and gets what it may spend besides.
      const before = rows.settled(run)
      const day = today(nowMs)
      const isOfToday = before?.day === day
      const own = (isOfToday && before?.amount) || nothing
      const base = before && !isOfToday ? plus(known.base, before.amount) : known.base
      const used = plus(rows.settledIn(day), reservedIn(day, rows.leases()))
      const more = grant(besides(toAmount(asked), plus(base, own)), limits, used)
      if (!more.ok) return refusal(more, { limits, day, nowMs })
      const amount = toAmount(plus(own, more.amount))
      rows.together(() => {
        if (isOfToday) rows.removeSettled(run)
        else if (before) rows.leaveSettled(run)
        openDay(nowMs)
        rows.openLease({ run, session, day, amount, nextCheckMs: nowMs + sweepEveryMs })
        // A run's first reservation needs no progress row: no earlier message of it can arrive late.
        if (at > firstStep || !isSame(base, nothing)) rows.writeProgress({ run, step: at, base })
      })
      return { ok: true, value: toAmount(plus(base, amount)) }
    },
    settle: (...settlement: Parameters<typeof settle>) =>
      rows.together(() => settle(...settlement)),
    usage(limits: DayAmount, nowMs: number, run?: string): DayUsage {
      const day = today(nowMs)
      const open = run === undefined ? undefined : rows.lease(run)
      const leases = rows.leases().filter((lease) => lease.day === day)
      return {
        day,
        limits,
        settled: toAmount(rows.settledIn(day)),
        reserved: toAmount(reservedIn(day, leases)),
        openRuns: leases.length,
        ...(open && { most: mostOf(open, limits) }),
      }
    },
    checks: createLeaseChecks(rows, { sweepEveryMs, settle }),
  }
}

const firstStep = 1

/** Summed at each call, not stored: few reservations are open at a time. */
const reservedIn = (day: string, leases: readonly LeaseRow[]): DayAmount =>
  sumOf(leases.filter((lease) => lease.day === day).map(({ amount }) => amount))

function refusal(
  { code }: Extract<Granted, { ok: false }>,
  at: { readonly limits: DayAmount; readonly day: string; readonly nowMs: number },
): Reply<never> {
  const endsMs = endOfDayMs(at.day)
  const resets = new Date(endsMs).toISOString().slice(0, 16).replace('T', ' ')
  const limit = code === 'lease_tokens' ? `${at.limits.tokens} tokens` : inUsd(at.limits)
  const message = `The day's limit of this principal, ${limit}, is used up or reserved. It resets at ${resets} UTC.`
  return {
    ok: false,
    error: { code, message, retryAfterMs: Math.max(endsMs - at.nowMs, 1_000) },
  }
}

const inUsd = ({ costNanoUsd }: DayAmount) => `${costNanoUsd / 1e9} US dollars`

const atLeast = (a: DayAmount, b: DayAmount): DayAmount => ({
  tokens: Math.max(a.tokens, b.tokens),
  costNanoUsd: Math.max(a.costNanoUsd, b.costNanoUsd),
})

const isSame = (a: DayAmount, b: DayAmount) =>
  a.tokens === b.tokens && a.costNanoUsd === b.costNanoUsd
