import type { Clock } from '#contracts/sources.ts'
import type { Report } from './incidents.ts'

/** So often as many alarms of one object as recovery needs, in this time, and nothing added to its log: that is a loop. */
const timesRecovery = 5
const windowMs = 60_000
const firstPauseMs = 60_000
const maxPauseMs = 3_600_000

/**
 * Breaks a loop of wakes: alarms that set themselves again and bring no run on. The next alarm is pushed out, longer
 * with each that follows, and it is an incident until something was added to the log. What it is for is not forgotten,
 * only later. Counted in memory, so a loop is one that is faster than an object leaves memory.
 */
export interface WakeWatch {
  /** An alarm was dealt with. Rejects if the next one could not be pushed out. */
  readonly rang: () => Promise<void>
}

export interface WakeWatchOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly recoverEveryMs: number
  readonly storage: Pick<DurableObjectStorage, 'getAlarm'>
  readonly setAlarm: (time: number) => Promise<void>
  /** Changes whenever something was added to the log. */
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
