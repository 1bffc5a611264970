import type {
  PrincipalTiming,
  DayAmount,
  DayLeaseRequest,
  DayPiece,
  DaySettlement,
  DayUsage,
} from '#runtime/session/types/principal.ts'
import type { LeaseRow, PrincipalRows, ProgressRow } from './principal-rows.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import { createLeaseChecks } from './lease-checks.ts'
import {
  adopt,
  atLeast,
  createPieces,
  firstStep,
  isPiece,
  isSame,
  piecesIn,
  reservedIn,
} from './day-pieces.ts'
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
 * A piece is a reservation that a session made for its next run. It never changes what another run gets: a run that
 * would get less because of pieces waits until they are called back (`inTheWay`).
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
    const pieces = piecesIn(open.day, rows.leases())
    const asks = besides(toAmount(asked), progress.base)
    const again = grant(asks, limits, minus(used, open.amount), pieces)
    const amount = again.ok ? toAmount(atLeast(again.amount, open.amount)) : open.amount
    rows.together(() => {
      rows.writeProgress(progress)
      if (isSame(amount, open.amount)) return
      rows.closeLease(open.run)
      rows.openLease({ ...open, amount })
    })
    return amount
  }

  const { inTheWay, ahead } = createPieces(rows, { today, openDay })
  return {
    inTheWay,
    reserve(
      { run, session, asked, step = 0, piece, back }: DayLeaseRequest,
      limits: DayAmount,
      nowMs: number,
    ): ObjectReply<DayAmount> {
      if ((back !== undefined && rows.lease(back)) || (piece !== undefined && rows.lease(piece)))
        rows.together(() => {
          if (back !== undefined) rows.closeLease(back)
          if (piece !== undefined) adopt(rows, { piece, run, nextCheckMs: nowMs + sweepEveryMs })
        })
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
      const asks = besides(toAmount(asked), plus(base, own))
      const more = grant(asks, limits, used, piecesIn(day, rows.leases()))
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
    /** The same of a run that worked on a piece or whose session asks for one. */
    settleAndReserve(
      request: DaySettlement,
      limits: DayAmount | undefined,
      nowMs: number,
    ): DayPiece | undefined {
      const { run, spent, step, piece } = request
      return rows.together(() => {
        if (piece !== undefined) adopt(rows, { piece, run, nextCheckMs: nowMs + sweepEveryMs })
        settle(run, spent, nowMs, step)
        return limits && ahead(request, limits, nowMs)
      })
    },
    usage: (limits: DayAmount, nowMs: number, run?: string): DayUsage =>
      usageOf(rows, limits, { day: today(nowMs), run }),
    checks: createLeaseChecks(rows, { sweepEveryMs, settle }),
  }
}

/**
 * The most that a run with a reservation may spend in all: earlier settlements, its reservation, and the rest of its
 * day.
 */
function mostOf(rows: PrincipalRows, { run, day, amount }: LeaseRow, limits: DayAmount): DayAmount {
  const used = plus(rows.settledIn(day), reservedIn(day, rows.leases()))
  return toAmount(sumOf([rows.progress(run).base, amount, besides(limits, used)]))
}

function usageOf(
  rows: PrincipalRows,
  limits: DayAmount,
  { day, run }: { readonly day: string; readonly run: string | undefined },
): DayUsage {
  const open = run === undefined ? undefined : rows.lease(run)
  const leases = rows.leases().filter((lease) => lease.day === day)
  return {
    day,
    limits,
    settled: toAmount(rows.settledIn(day)),
    reserved: toAmount(reservedIn(day, leases)),
    openRuns: leases.filter((lease) => !isPiece(lease)).length,
    ...(open && { most: mostOf(rows, open, limits) }),
  }
}

function refusal(
  { code }: Extract<Granted, { ok: false }>,
  at: { readonly limits: DayAmount; readonly day: string; readonly nowMs: number },
): ObjectReply<never> {
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
