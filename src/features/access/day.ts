import { unlimited } from '#contracts/lease.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'

const dayMs = 86_400_000

/** No spending at all. */
export const nothing: DayAmount = { tokens: 0, costNanoUsd: 0 }

/** `YYYY-MM-DD`, UTC: as text, days sort by time. */
export const dayOf = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 10)

/** Days never go backwards: a clock that does must not open a day anew that was spent (docs/reliability.md F29). */
export const laterDay = (today: string, seen: string | undefined): string =>
  seen !== undefined && seen > today ? seen : today

/** When the next day begins, epoch milliseconds. */
export const endOfDayMs = (day: string): number => Date.parse(`${day}T00:00:00Z`) + dayMs

/** The first day that is still kept. */
export const keptFrom = (day: string, keptDays: number): string =>
  dayOf(Date.parse(`${day}T00:00:00Z`) - keptDays * dayMs)

/**
 * Figures as a ledger may book them. What is no figure counts as everything: never less than was spent
 * (docs/security.md T19).
 */
export function toAmount({ tokens, costNanoUsd }: DayAmount): DayAmount {
  const clean = (value: number) =>
    Number.isNaN(value) ? unlimited : Math.min(Math.max(Math.ceil(value), 0), unlimited)
  return { tokens: clean(tokens), costNanoUsd: clean(costNanoUsd) }
}

/** Both amounts together. */
export function plus(a: DayAmount, b: DayAmount): DayAmount {
  return { tokens: a.tokens + b.tokens, costNanoUsd: a.costNanoUsd + b.costNanoUsd }
}

/** What is left of `a`; below zero where `b` is more. */
export function minus(a: DayAmount, b: DayAmount): DayAmount {
  return { tokens: a.tokens - b.tokens, costNanoUsd: a.costNanoUsd - b.costNanoUsd }
}

/** All amounts together. */
export const sumOf = (amounts: readonly DayAmount[]): DayAmount => amounts.reduce(plus, nothing)

/** What is asked for besides what was spent already; no limit stays no limit. */
export function besides(asked: DayAmount, spent: DayAmount): DayAmount {
  const more = (all: number, own: number) => (all >= unlimited ? all : Math.max(all - own, 0))
  return {
    tokens: more(asked.tokens, spent.tokens),
    costNanoUsd: more(asked.costNanoUsd, spent.costNanoUsd),
  }
}

/** What of the day a run gets, or the dimension in which nothing is left. */
export type Granted =
  | { readonly ok: true; readonly amount: DayAmount }
  | { readonly ok: false; readonly code: 'lease_tokens' | 'lease_cost' }

/** What a run that asks for the whole day gets at most of what is left: others beside it want something too. */
const openShare = 1 / 8
/** No less than this while it is there, or the end of a day would be cut into parts that pay for nothing. */
const openLeast: DayAmount = { tokens: 50_000, costNanoUsd: 250_000_000 }

/**
 * What a run gets of a day: what it asks, or what is left if that is less. One that asks for as much as a whole day
 * gets an eighth of what is left, or `openLeast`. Refused if it asks for something of which nothing is left; what is not limited is
 * not counted against anything.
 *
 * @param used Settled and reserved together; more than the limit after an overrun or a lowered limit.
 */
export function grant(asked: DayAmount, limits: DayAmount, used: DayAmount): Granted {
  const tokens = part(asked.tokens, limits.tokens, used.tokens, openLeast.tokens)
  if (tokens === undefined) return { ok: false, code: 'lease_tokens' }
  const costNanoUsd = part(
    asked.costNanoUsd,
    limits.costNanoUsd,
    used.costNanoUsd,
    openLeast.costNanoUsd,
  )
  if (costNanoUsd === undefined) return { ok: false, code: 'lease_cost' }
  return { ok: true, amount: { tokens, costNanoUsd } }
}

function part(asked: number, limit: number, used: number, least: number): number | undefined {
  if (limit >= unlimited) return asked
  const left = Math.max(limit - used, 0)
  if (asked > 0 && left === 0) return undefined
  const share = Math.max(Math.ceil(left * openShare), least)
  return Math.min(asked >= limit ? share : asked, left)
}
