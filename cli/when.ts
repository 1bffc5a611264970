// Times on a command line: 2h, 1d, 30m, or a date.
import { text, UsageError } from './options.ts'

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** `30d`, `12h`, `15m` or `90s` in milliseconds. */
export function duration(text: string, option: string): number {
  const ms = milliseconds(text)
  if (ms !== undefined) return ms
  throw new UsageError(`${option} must be a time (90s, 15m, 12h, 30d).`)
}

/** Epoch milliseconds of an ISO date. */
export function date(text: string, option: string): number {
  const atMs = isoDate(text)
  if (atMs !== undefined) return atMs
  throw new UsageError(`${option} must be a date (2027-01-31, 2027-01-31T12:00:00Z).`)
}

function milliseconds(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const each = unitMs[unit]
  return each === undefined ? undefined : Number(count) * each
}

function isoDate(text: string): number | undefined {
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(atMs) && atMs >= 0 ? atMs : undefined
}

const dayMs = 86_400_000
const dayNames = ['today', 'yesterday']

/** The start of a day (UTC): today, yesterday; `undefined` for other words. */
function startOfDay(text: string, nowMs: number): number | undefined {
  const ago = dayNames.indexOf(text)
  return ago < 0 ? undefined : (Math.floor(nowMs / dayMs) - ago) * dayMs
}

/** `since` and `until` of a day, UTC: today, yesterday or a date. */
export function dayRange(text: string, option: string, nowMs = Date.now()) {
  const since =
    startOfDay(text, nowMs) ?? (/^\d{4}-\d{2}-\d{2}$/.test(text) ? isoDate(text) : undefined)
  if (since !== undefined) return { since, until: since + dayMs }
  throw new UsageError(`${option} must be today, yesterday or a date (2026-09-21).`)
}

/** Epoch milliseconds of `2h` (so long ago) or an ISO date. */
export function moment(text: string, option: string, nowMs = Date.now()): number {
  const atMs = isoDate(text) ?? nowMs - (milliseconds(text) ?? Number.NaN)
  if (Number.isFinite(atMs)) return atMs
  throw new UsageError(`${option} must be so long ago (30m, 2h, 7d) or a date (2026-09-21).`)
}

export const rangeOptions = {
  since: text('when', 'from then on: 30m, 2h, 7d ago, or a date', { read: moment }),
  until: text('when', 'before then', { read: moment }),
}
