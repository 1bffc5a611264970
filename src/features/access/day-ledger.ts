import type {
  DayAmount,
  DayLeaseRequest,
  DayUsage,
  PrincipalTiming,
} from '#runtime/session/types/principal.ts'
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
import { createLeaseChecks, type LeaseChecks } from './lease-checks.ts'
import type { LeaseRow, PrincipalRows, ProgressRow } from './principal-rows.ts'

/**
 * One principal's days. At every moment, for every day: settled + reserved ≤ limit, but for overruns that were
 * booked (a run that spent more than it got, a limit that was lowered); then nothing more is given. Each verb is
 * one synchronous step: read, await, write would lose updates.
 *
 * A reservation has one day for good, so that whatever is settled of it lands where it was reserved, across midnight
 * and after a restart. A run that goes on while one is open may get more of its day. One that has none open reserves in
 * the day of now: a day that is over may be used up. What it settled before stays in that day and is the base of what
 * it says from then on.
 *
 * Settlements and reservations of a run travel on their own. Each says its step: one of an earlier step than what
 * is known is late and changes nothing.
 */
export interface DayLedger {
  readonly reserve: (request: DayLeaseRequest, limits: DayAmount, nowMs: number) => Reply<DayAmount>
  readonly settle: (run: string, spent: DayAmount, nowMs: number, step?: number) => void
  readonly usage: (limits: DayAmount, nowMs: number, run?: string) => DayUsage
  readonly checks: LeaseChecks
}

/** Books a principal's days in its object: reserves, settles, and frees what was never begun. Synchronous. */
export function createDayLedger(
  rows: PrincipalRows,
  { sweepEveryMs, keepUsageDays }: PrincipalTiming,
): DayLedger {
  const today = (nowMs: number) => laterDay(dayOf(nowMs), rows.lastDay())

  const openDay = (nowMs: number): string => {
    const day = today(nowMs)
    if (rows.lastDay() === day) return day
    rows.openDay(day)
    rows.dropDaysBefore(keptFrom(day, keepUsageDays))
    return day
  }

  const settle: DayLedger['settle'] = (run, spent, nowMs, step) => {
    const known = rows.progress(run)
    if (step !== undefined && step < known.step) return
    const lease = rows.lease(run)
    const before = rows.settled(run)
    const amount = toAmount(minus(toAmount(spent), known.base))
    if (!lease && isSame(before?.amount ?? nothing, amount)) return
    if (lease) rows.closeLease(run)
    // Nothing spent is lost, even what was never reserved.
    rows.writeSettled({ run, day: lease?.day ?? before?.day ?? openDay(nowMs), amount })
    if (step !== undefined && step > known.step) rows.writeProgress({ ...known, step })
  }

  /** It was parked meanwhile, and something below it works on: it may ask for more than it has, once its limit is raised. */
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

  /** What a run that has a reservation may come to: what it settled before, what it holds, and what is left of its day. */
  const mostOf = ({ run, day, amount }: LeaseRow, limits: DayAmount): DayAmount => {
    const used = plus(rows.settledIn(day), reservedIn(day, rows.leases()))
    return toAmount(sumOf([rows.progress(run).base, amount, besides(limits, used)]))
  }

  return {
    reserve: ({ run, session, asked, step = 0 }, limits, nowMs) => {
      const known = rows.progress(run)
      const at = Math.max(step, known.step)
      const open = rows.lease(run)
      if (open) {
        let { amount } = open
        if (at > known.step && at > firstStep)
          amount = goOn(open, { ...known, step: at }, { asked, limits })
        return { ok: true, value: toAmount(plus(known.base, amount)) }
      }
      // A run that goes on after it was settled keeps what that was, and gets what it may spend besides.
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
        // Nothing can be late of a run that reserves for the first time.
        if (at > firstStep || !isSame(base, nothing)) rows.writeProgress({ run, step: at, base })
      })
      return { ok: true, value: toAmount(plus(base, amount)) }
    },
    settle: (...settlement) => rows.together(() => settle(...settlement)),
    usage(limits, nowMs, run) {
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

/** Few are open at a time, so this is summed and not kept. */
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
