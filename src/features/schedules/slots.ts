import { toCron } from '#contracts/schedule-requests.ts'
import type { Schedule, When } from '#runtime/session/types/schedule.ts'

/**
 * The first slot after a moment; `undefined` if there is none. A cron time that the day of a clock change skips is
 * due at its next valid minute. A time that this day has twice is due once, unless minute or hour begin with a star:
 * an interval is due each time.
 */
export function nextSlot(when: When, afterMs: number): number | undefined {
  if ('event' in when) return undefined
  if ('atMs' in when) return when.atMs.find((atMs) => atMs > afterMs)
  if ('everyMs' in when) {
    const { everyMs, anchorMs } = when
    return afterMs < anchorMs
      ? anchorMs
      : anchorMs + (Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs
  }
  const cron = toCron(when.cron, when.timeZone)
  const isInterval = when.cron
    .trim()
    .split(/\s+/)
    .slice(0, 2)
    .some((field) => /^[*?]/.test(field))
  let next = cron.nextRun(new Date(afterMs))
  while (next && !isInterval && isRepeated(next.getTime(), when.timeZone)) next = cron.nextRun(next)
  return next?.getTime()
}

const longestRepeatMs = 3 * 3_600_000

/** Whether clocks there have shown this time before, since they were put back. */
function isRepeated(atMs: number, timeZone: string): boolean {
  const offsetAt = offsetOf(timeZone)
  const backMs = offsetAt(atMs - longestRepeatMs) - offsetAt(atMs)
  return backMs > 0 && offsetAt(atMs - backMs) - offsetAt(atMs) === backMs
}

/** How far clocks there are before UTC, in milliseconds. */
function offsetOf(timeZone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (atMs) => {
    const parts = format.formatToParts(atMs)
    const of = (type: Intl.DateTimeFormatPartTypes) =>
      Number(parts.find((part) => part.type === type)?.value)
    const wall = [of('hour'), of('minute'), of('second')] as const
    const wallMs = Date.UTC(of('year'), of('month') - 1, of('day'), ...wall)
    return wallMs - Math.floor(atMs / 1_000) * 1_000
  }
}

/** The next slots after one, or after a moment. */
export function nextSlots(when: When, afterMs: number, count: number): readonly number[] {
  const slots: number[] = []
  let next = nextSlot(when, afterMs)
  while (next !== undefined && slots.length < count) {
    slots.push(next)
    next = nextSlot(when, next)
  }
  return slots
}

/** How much later than its slot a firing comes: by the slot alone, so that every reckoning is the same. */
export function jitterOf(
  { id, spec: { jitterMs } }: Pick<Schedule, 'id' | 'spec'>,
  slotMs: number,
  sha256: (text: string) => string,
): number {
  if (jitterMs <= 0) return 0
  return Number.parseInt(sha256(`jitter:${id}:${slotMs}`).slice(0, 8), 16) % (jitterMs + 1)
}
