import { unlimited } from '#contracts/lease.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'

const dayMs = 86_400_000

/** No spending at all. */
export const nothing: DayAmount = { tokens: 0, costNanoUsd: 0 }

/** `YYYY-MM-DD`, UTC: as text, days sort by time. */
export const dayOf = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 10)

/**
 * Days never go backwards: with a clock that was set back, an earlier day could be spent twice (docs/reliability.md
 * F29).
 */
export const laterDay = (today: string, seen: string | undefined): string =>
  seen !== undefined && seen > today ? seen : today

/** When the next day begins, epoch milliseconds. */
export const endOfDayMs = (day: string): number => Date.parse(`${day}T00:00:00Z`) + dayMs

/** The first day whose rows are kept. */
export const keptFrom = (day: string, keptDays: number): string =>
  dayOf(Date.parse(`${day}T00:00:00Z`) - keptDays * dayMs)

/**
 * Figures as a ledger may book them. NaN counts as unlimited: the ledger must never book less than was spent
 * (docs/security.md T19).
 */
export function toAmount({ tokens, costNanoUsd }: DayAmount): DayAmount {
  const clean = (value: number) =>
    Number.isNaN(value) ? unlimited : Math.min(Math.max(Math.ceil(value), 0), unlimited)
  return { tokens: clean(tokens), costNanoUsd: clean(costNanoUsd) }
}

export function plus(a: DayAmount, b: DayAmount): DayAmount {
  return { tokens: a.tokens + b.tokens, costNanoUsd: a.costNanoUsd + b.costNanoUsd }
}

/** `a` minus `b`; below zero where `b` is more. */
export function minus(a: DayAmount, b: DayAmount): DayAmount {
  return { tokens: a.tokens - b.tokens, costNanoUsd: a.costNanoUsd - b.costNanoUsd }
}

export const sumOf = (amounts: readonly DayAmount[]): DayAmount => amounts.reduce(plus, nothing)

/** The asked amount minus the spent amount; an unlimited amount stays unlimited. */
export function besides(asked: DayAmount, spent: DayAmount): DayAmount {
  const more = (all: number, own: number) => (all >= unlimited ? all : Math.max(all - own, 0))
  return {
    tokens: more(asked.tokens, spent.tokens),
    costNanoUsd: more(asked.costNanoUsd, spent.costNanoUsd),
  }
}

/** The amount a run gets of a day, or the dimension in which nothing is left. */
export type Granted =
  | { readonly ok: true; readonly amount: DayAmount }
  | { readonly ok: false; readonly code: 'lease_tokens' | 'lease_cost' }

/** The share of the rest that a run gets if it asks for the whole day: other runs need some too. */
const openShare = 1 / 8
/** The smallest share while that much is left: smaller shares at the end of a day would pay for no run. */
const openLeast: DayAmount = { tokens: 50_000, costNanoUsd: 250_000_000 }

/**
 * The amount a run gets of a day: the asked amount, or the rest if that is less. A run that asks for a whole day or
 * more gets an eighth of the rest, or `openLeast`. Refused if it asks for something of which nothing is left. An
 * unlimited dimension is always granted.
 *
 * @param used Settled and reserved together; more than the limit after an overrun or a lowered limit.
 * @param pieces The part of it that sessions hold for their next runs: a share counts it as left.
 */
export function grant(
  asked: DayAmount,
  limits: DayAmount,
  used: DayAmount,
  pieces: DayAmount = nothing,
): Granted {
  const tokens = part('tokens', { asked, limits, used, pieces })
  if (tokens === undefined) return { ok: false, code: 'lease_tokens' }
  const costNanoUsd = part('costNanoUsd', { asked, limits, used, pieces })
  if (costNanoUsd === undefined) return { ok: false, code: 'lease_cost' }
  return { ok: true, amount: { tokens, costNanoUsd } }
}

function part(
  name: keyof DayAmount,
  of: Readonly<Record<'asked' | 'limits' | 'used' | 'pieces', DayAmount>>,
): number | undefined {
  const [asked, limit, used] = [of.asked[name], of.limits[name], of.used[name]]
  if (limit >= unlimited) return asked
  const left = Math.max(limit - used, 0)
  if (asked > 0 && left === 0) return undefined
  const rest = Math.max(limit - used + of.pieces[name], 0)
  const share = Math.max(Math.ceil(rest * openShare), openLeast[name])
  return Math.min(asked >= limit ? share : asked, left)
}
