import { unlimited } from '#contracts/lease.ts'
import type {
  DayAmount,
  DayLeaseRequest,
  DayPiece,
  DaySettlement,
} from '#runtime/session/types/principal.ts'
import type { LeaseRow, PrincipalRows } from './principal-rows.ts'
import { besides, grant, minus, nothing, plus, sumOf, toAmount, type Granted } from './day.ts'

/** A piece that no run has taken for so long is called back. */
const pieceMs = 600_000

/** Each request reads them all. */
const mostPieces = 64

/** A reservation of a session for its next run. Runs have other ids. */
export const isPiece = ({ run }: Pick<LeaseRow, 'run'>): boolean => run.startsWith('next:')

/** A run's first reservation names this step. */
export const firstStep = 1

/** Summed at each call, not stored: few reservations are open at a time. */
export const reservedIn = (day: string, leases: readonly LeaseRow[]): DayAmount =>
  sumOf(leases.filter((lease) => lease.day === day).map(({ amount }) => amount))

export const piecesIn = (day: string, leases: readonly LeaseRow[]): DayAmount =>
  reservedIn(day, leases.filter(isPiece))

export const atLeast = (a: DayAmount, b: DayAmount): DayAmount => ({
  tokens: Math.max(a.tokens, b.tokens),
  costNanoUsd: Math.max(a.costNanoUsd, b.costNanoUsd),
})

export const isSame = (a: DayAmount, b: DayAmount) =>
  a.tokens === b.tokens && a.costNanoUsd === b.costNanoUsd

/**
 * The piece becomes the reservation of the run that works on it: in its day, since the run may spend no more in all.
 * A reservation that an earlier life of the session made for the same run is replaced.
 */
export function adopt(
  rows: PrincipalRows,
  of: { readonly piece: string; readonly run: string; readonly nextCheckMs: number },
): void {
  const { piece, run, nextCheckMs } = of
  const held = rows.lease(piece)
  if (!held) return
  const before = rows.lease(run)
  const amount = before?.day === held.day ? atLeast(before.amount, held.amount) : held.amount
  rows.closeLease(piece)
  if (before) rows.closeLease(run)
  const { session, day } = held
  rows.openLease({ run, session, day, amount, nextCheckMs })
}

interface PiecesOptions {
  readonly today: (nowMs: number) => string
  readonly openDay: (nowMs: number) => string
}

/** The pieces of one principal's day: which a request waits for, and which a session gets. */
export function createPieces(rows: PrincipalRows, { today, openDay }: PiecesOptions) {
  const piecesOf = (day: string) =>
    rows.leases().filter((lease) => lease.day === day && isPiece(lease))

  const openOf = ({
    run,
    piece,
  }: Pick<DayLeaseRequest, 'run'> & { readonly piece: string | undefined }) =>
    rows.lease(run) ?? (piece === undefined ? undefined : rows.lease(piece))

  /** The part of a day that a request gets with the amount in `free` given back, and these pieces left. */
  const wouldGet = (
    { run, asked, step = 0, piece }: DayLeaseRequest,
    limits: DayAmount,
    {
      nowMs,
      free,
      pieces,
    }: Readonly<Record<'free' | 'pieces', DayAmount>> & { readonly nowMs: number },
  ): Granted => {
    const known = rows.progress(run)
    const open = openOf({ run, piece })
    const day = open?.day ?? today(nowMs)
    const used = minus(plus(rows.settledIn(day), reservedIn(day, rows.leases())), free)
    if (open) {
      const isLate = Math.max(step, known.step) <= Math.max(known.step, firstStep)
      if (isLate) return { ok: true, amount: open.amount }
      const asks = besides(toAmount(asked), known.base)
      return grant(asks, limits, minus(used, open.amount), pieces)
    }
    const before = rows.settled(run)
    const spent = plus(known.base, before?.amount ?? nothing)
    return grant(besides(toAmount(asked), spent), limits, used, pieces)
  }

  /** The piece that a session asks for, if the day has twice as much: the last of a day is for runs that begin. */
  const ahead = (
    { session, next }: Pick<DaySettlement, 'session' | 'next'>,
    limits: DayAmount,
    nowMs: number,
  ): DayPiece | undefined => {
    if (!next || !isPiece({ run: next.id })) return undefined
    const asked = toAmount(next.asked)
    const day = today(nowMs)
    if (piecesOf(day).length >= mostPieces) return undefined
    const found = rows.lease(next.id)
    const used = plus(rows.settledIn(day), reservedIn(day, rows.leases()))
    const given = grant(asked, limits, used, piecesIn(day, rows.leases()))
    if (found || !given.ok) return undefined
    const { amount } = given
    const isPlenty = (name: keyof DayAmount) =>
      limits[name] >= unlimited ||
      ((asked[name] >= limits[name] || amount[name] === asked[name]) &&
        2 * amount[name] <= limits[name] - used[name])
    if (!isPlenty('tokens') || !isPlenty('costNanoUsd')) return undefined
    openDay(nowMs)
    rows.openLease({ run: next.id, session, day, amount, nextCheckMs: nowMs + pieceMs })
    return { id: next.id, day, limits, asked: next.asked, amount }
  }

  return {
    ahead,
    /**
     * The pieces that are to be called back before this request is decided, oldest first: it would get more without
     * them.
     */
    inTheWay: (request: DayLeaseRequest, limits: DayAmount, nowMs: number): readonly LeaseRow[] => {
      const { run, back, piece } = request
      const day = openOf({ run, piece })?.day ?? today(nowMs)
      const others = piecesOf(day).filter((one) => one.run !== piece)
      const pieces = others.filter((one) => one.run !== back)
      if (pieces.length === 0) return []
      const freeIn = (some: readonly LeaseRow[]) => sumOf(some.map(({ amount }) => amount))
      const own = others.filter((one) => one.run === back)
      const now = wouldGet(request, limits, { nowMs, free: freeIn(own), pieces: freeIn(pieces) })
      const then = wouldGet(request, limits, { nowMs, free: freeIn(others), pieces: nothing })
      const isSameGrant = now.ok && then.ok && isSame(now.amount, then.amount)
      if (isSameGrant || (!now.ok && !then.ok)) return []
      return pieces.toSorted((a, b) => a.nextCheckMs - b.nextCheckMs)
    },
  }
}
