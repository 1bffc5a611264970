import type { DayAmount, DayLeaseRequest, DayUsage, PrincipalTiming } from '#contracts/principal.ts'
import type { Reply } from '#contracts/session.ts'
import {
  besides,
  dayOf,
  endOfDayMs,
  grant,
  keptFrom,
  laterDay,
  nothing,
  plus,
  sumOf,
  toAmount,
  type Granted,
} from './day.ts'
import { createLeaseChecks, type LeaseChecks } from './lease-checks.ts'
import type { LeaseRow, PrincipalRows } from './principal-rows.ts'

/**
 * One principal's days. At every moment, for every day: settled + reserved ≤ limit, but for overruns that were
 * booked (a run that spent more than it got, a limit that was lowered); then nothing more is given. Each verb is
 * one synchronous step: read, await, write would lose updates.
 *
 * A run has one day for good, that of its first reservation, so that whatever it settles later lands where it
 * was reserved, across midnight and after a restart.
 */
export interface DayLedger {
  readonly reserve: (request: DayLeaseRequest, limits: DayAmount, nowMs: number) => Reply<DayAmount>
  readonly settle: (run: string, spent: DayAmount, nowMs: number) => void
  readonly usage: (limits: DayAmount, nowMs: number) => DayUsage
  readonly checks: LeaseChecks
}

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

  const settle = (run: string, spent: DayAmount, nowMs: number) => {
    const lease = rows.lease(run)
    const before = rows.settled(run)
    const amount = toAmount(spent)
    if (!lease && isSame(before?.amount ?? nothing, amount)) return
    if (lease) rows.closeLease(run)
    // Nothing spent is lost, even what was never reserved.
    rows.writeSettled({ run, day: lease?.day ?? before?.day ?? openDay(nowMs), amount })
  }

  return {
    reserve: ({ run, session, asked }, limits, nowMs) => {
      const known = rows.lease(run)
      if (known) return { ok: true, value: known.amount }
      // A run that goes on after it was settled keeps what that was, and gets what it may spend besides.
      const before = rows.settled(run)
      const own = before?.amount ?? nothing
      const day = before?.day ?? today(nowMs)
      const used = plus(rows.settledIn(day), reservedIn(day, rows.leases()))
      const more = grant(besides(toAmount(asked), own), limits, used)
      if (!more.ok) return refusal(more, { limits, day, nowMs })
      const amount = toAmount(plus(own, more.amount))
      rows.together(() => {
        if (before) rows.removeSettled(run)
        else openDay(nowMs)
        rows.openLease({ run, session, day, amount, nextCheckMs: nowMs + sweepEveryMs })
      })
      return { ok: true, value: amount }
    },
    settle: (run, spent, nowMs) => rows.together(() => settle(run, spent, nowMs)),
    usage(limits, nowMs) {
      const day = today(nowMs)
      const leases = rows.leases().filter((lease) => lease.day === day)
      return {
        day,
        limits,
        settled: toAmount(rows.settledIn(day)),
        reserved: toAmount(reservedIn(day, leases)),
        openRuns: leases.length,
      }
    },
    checks: createLeaseChecks(rows, { sweepEveryMs, settle }),
  }
}

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

const isSame = (a: DayAmount, b: DayAmount) =>
  a.tokens === b.tokens && a.costNanoUsd === b.costNanoUsd
