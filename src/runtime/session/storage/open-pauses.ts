import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { settles, type Pause, type PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { PauseView } from '../types/run-view.ts'
import type { RunRow } from './stored-rows.ts'

/** The pauses of a run, if it waits for all of them: no call of its open turn can go on. */
export function pausesOf(row: RunRow, last: TurnRecord | undefined): readonly Pause[] {
  if (!last || last.isDone || row.cancelReason !== undefined) return []
  const open = last.calls.filter(({ outcome }) => !outcome)
  if (last.pause && !isOver(last.pause, row)) {
    const waiting = open.filter((call) => isWaiting(call, row)).flatMap(({ pause }) => pause ?? [])
    return [last.pause, ...waiting]
  }
  return open.every((call) => isWaiting(call, row)) ? open.flatMap(({ pause }) => pause ?? []) : []
}

/** The pauses that can be decided now, also while another call of the turn runs after its answer. */
export function undecidedOf(row: RunRow, last: TurnRecord | undefined): readonly Pause[] {
  const waiting = pausesOf(row, last)
  if (waiting.length > 0 || !last || last.isDone || row.cancelReason !== undefined) return waiting
  const open = last.calls.filter((call) => !call.outcome && isWaiting(call, row))
  return open.flatMap(({ pause }) => (pause?.kind === 'approval' ? [pause] : []))
}

/** A hash of a text, as hex. */
export type Hash = (text: string) => string

export function toView(
  { changes: _ofLimits, limits: _inForce, ...pause }: Pause,
  pauseMs: number,
  sha256: Hash,
): PauseView {
  return {
    ...pause,
    ...(pause.expires && { expiresAtMs: pause.sinceMs + pauseMs }),
    ...(pause.asks && { asksHash: asksHashOf(pause, sha256) }),
  }
}

/** Identifies the questions of a pause: their keys alone may come again in other calls. */
export const asksHashOf = ({ call, asks }: Pause, sha256: Hash): string =>
  sha256(JSON.stringify({ call, asks }))

/** Whether the limit was raised far enough, or the pause was answered or has expired. */
function isOver(pause: Pause, { answers, changed }: RunRow): boolean {
  const { call, reached, changes = 0 } = pause
  if (answers?.[call]) return true
  if (!reached?.limit || !changed || changed.count <= changes) return false
  return (changed.limits[reached.limit] ?? 0) >= (reached.needed ?? 0)
}

const isWaiting = ({ id, pause }: CallRecord, { answers }: RunRow): boolean =>
  pause !== undefined && pause.kind !== 'budget' && !isAnswered(pause, answers?.[id])

/** An approval counts only for the arguments and the definition with which the call would run. */
function isAnswered(pause: Pause, answer: PauseAnswer | undefined): boolean {
  if (!answer || !settles(pause, answer)) return false
  if (pause.kind !== 'approval' || answer.kind !== 'approved') return true
  return answer.argsHash === pause.argsHash && answer.definitionHash === pause.definitionHash
}
