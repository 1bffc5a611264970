import type { Clock } from '#contracts/sources.ts'
import type { Report } from './incidents.ts'

/** An object is in a wake loop if so many recovery alarms come in this time without a new row in its log. */
const timesRecovery = 5
const windowMs = 60_000
const firstPauseMs = 60_000
const maxPauseMs = 3_600_000

/**
 * Breaks a loop of wakes: alarms that set themselves again without progress of a run. It delays the next alarm, longer
 * each time, and reports an incident until the log grows. The work of the alarm is delayed, not forgotten. The count is in
 * memory, so only loops that are faster than the object leaves memory are found.
 */
export interface WakeWatch {
  /** Call it after an alarm. Rejects if the next alarm could not be delayed. */
  readonly rang: () => Promise<void>
}

export interface WakeWatchOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly recoverEveryMs: number
  readonly storage: Pick<DurableObjectStorage, 'getAlarm'>
  readonly setAlarm: (time: number) => Promise<void>
  /** A value that changes whenever the log grows. */
  readonly progress: () => number
  readonly report: Report
}

export function createWakeWatch(options: WakeWatchOptions): WakeWatch {
  const { clock, storage, setAlarm, progress, report } = options
  const mostInWindow = timesRecovery * Math.ceil(windowMs / options.recoverEveryMs)
  let rings: number[] = []
  let reached: number | undefined
  let trips = 0
  return {
    async rang() {
      const nowMs = clock.nowMs()
      const now = progress()
      if (now !== reached) {
        reached = now
        rings = []
        if (trips > 0) report('wake_loop', undefined)
        trips = 0
      }
      rings = [...rings.filter((atMs) => atMs > nowMs - windowMs), nowMs]
      if (rings.length < mostInWindow && trips === 0) return
      const nextMs = await storage.getAlarm()
      if (nextMs === null) return
      const untilMs = nowMs + Math.min(firstPauseMs * 2 ** trips, maxPauseMs)
      if (nextMs >= untilMs) return
      trips += 1
      report(
        'wake_loop',
        `Woken ${rings.length} times in a minute without anything to show for it.`,
      )
      await setAlarm(untilMs)
    },
  }
}
