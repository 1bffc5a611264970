import type { Incident } from '#runtime/session/types/principal.ts'
import type { Clock } from '#contracts/sources.ts'

const sameEveryMs = 1_000
/** Sessions that fail together must not overload the object they report to: it keeps the operator's day as well. */
const maxInWindow = 20
const maxPlaces = 1_000

/**
 * Whether an incident is worth a call: the same incident at most once a second, all together at most twenty. The
 * first and the last report of an incident pass while the total allows: without the last one it would seem to go on.
 */
export function createReportLimit({ nowMs }: Pick<Clock, 'nowMs'>) {
  const places = new Map<string, { readonly isOver: boolean; readonly atMs: number }>()
  let window = { startMs: 0, count: 0 }

  return ({ kind, session, isOver = false }: Incident): boolean => {
    const now = nowMs()
    const key = `${kind} ${session}`
    const last = places.get(key)
    if (last?.isOver === isOver && isWithin(last.atMs, now)) return false
    if (!isWithin(window.startMs, now)) window = { startMs: now, count: 0 }
    window.count += 1
    if (window.count > maxInWindow) return false
    if (places.size >= maxPlaces) places.clear()
    places.set(key, { isOver, atMs: now })
    return true
  }
}

/** False after a clock was set back: the wait is over. */
const isWithin = (startMs: number, now: number) => now >= startMs && now - startMs < sameEveryMs
