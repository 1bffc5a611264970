import type { ScheduleRows } from './rows.ts'

/** So long the stops of one reason are one. */
export const hourMs = 3_600_000

/**
 * Counts an event that begins no run with those before it: behind a full queue each would add a row to the history
 * and a row to the record, as long as events come in.
 *
 * @returns False for the first of its hour and reason, which becomes an event.
 */
export function countStop(
  rows: Pick<ScheduleRows, 'skippedSince' | 'putSlot'>,
  { id, reason, nowMs }: { readonly id: string; readonly reason: string; readonly nowMs: number },
): boolean {
  const first = rows.skippedSince(id, reason, nowMs - hourMs)
  if (!first) return false
  rows.putSlot({ ...first, count: (first.count ?? 1) + 1 }, undefined)
  return true
}
