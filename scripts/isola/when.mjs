// Moments on a command line: 2h, 1d, 30m, or a date.
import { UsageError } from './usage.mjs'

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Epoch milliseconds of `2h` (so long ago) or an ISO date. */
export function moment(text, option, nowMs = Date.now()) {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (unit) return nowMs - Number(count) * unitMs[unit]
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(atMs) && atMs >= 0) return atMs
  throw new UsageError(`--${option} must be so long ago (30m, 2h, 7d) or a date (2026-09-21).`)
}

/** `since` and `until` of an API, from the options of the same names. */
export const range = ({ since, until }) => ({
  ...(since !== undefined && { since: moment(since, 'since') }),
  ...(until !== undefined && { until: moment(until, 'until') }),
})

export const rangeOptions = {
  since: { type: 'string', value: 'when', about: 'from then on: 30m, 2h, 7d ago, or a date' },
  until: { type: 'string', value: 'when', about: 'before then' },
}
