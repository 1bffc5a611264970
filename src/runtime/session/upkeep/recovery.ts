import type { SessionRuntime } from '../types/runtime.ts'
import type { LiveRuns } from '../runs/live-runs.ts'
import type { Courier } from '../waiting/courier.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Retention } from './retention.ts'
import type { Timers } from './timers.ts'
import type { TraceOutbox } from './trace-outbox.ts'

const id = 'recover'
const maxBackoffFactor = 360

/**
 * The timer of one job that comes back while a run is live or an outbox has rows. Where the outboxes are soon empty, the
 * row of the job is not written again: only the alarm is moved, to the next other timer, and back with the next run. The
 * row stays, and is due, so an alarm that follows the rows meanwhile comes too early, never too late.
 */
export interface Recovery {
  /** Call it after the object was loaded: looks whether the job has a row. */
  readonly begin: () => void
  /** Sets the timer, in the same transaction as the work that needs it. */
  readonly ensure: () => void
  /** Forgets when the alarm comes: it was set to a later time. The next run sets it anew. */
  readonly alarmMoved: () => void
  /** Moves the alarm away if nothing is left to do. Rejects, and leaves it, where the retention job cannot be stored. */
  readonly rest: () => Promise<void>
  /** The job has done its work. @returns When it comes back, if something is left to do. */
  readonly next: (isCarried: boolean) => Promise<number | undefined>
  /** The job was cancelled. */
  readonly end: () => void
}

export interface RecoveryParts {
  readonly runtime: Pick<SessionRuntime, 'clock' | 'timing'>
  readonly identity: { readonly id: string }
  readonly timers: Timers
  readonly live: LiveRuns
  readonly outbox: AuditOutbox
  readonly courier: Courier
  readonly traces: TraceOutbox
  readonly retention: Retention
}

export function createRecovery(parts: RecoveryParts): Recovery {
  const { runtime, identity, live, outbox, courier, traces, retention } = parts
  const { clock, timing } = runtime
  const { jobs, setAlarm } = parts.timers
  /** When the job is due, if it has a row. */
  let jobMs: number | undefined
  /** When the alarm comes for it, if it is set for that. */
  let alarmMs: number | undefined

  const isQuiet = () => live.isIdle() && !live.isBehind && outbox.isEmpty()
  const isAtRest = () => isQuiet() && courier.isDone() && traces.isDone()
  const forget = () => {
    jobMs = undefined
    alarmMs = undefined
  }

  return {
    end: forget,
    begin() {
      jobMs = identity.id === '' ? undefined : jobs.get(id)?.time
    },
    ensure() {
      const time = clock.nowMs() + timing.recoverEveryMs
      if (alarmMs !== undefined && alarmMs <= time) return
      const isDue = jobMs !== undefined && jobMs <= time
      const set = isDue ? setAlarm(time) : jobs.push({ id, fn: id, time })
      if (!isDue) jobMs = time
      alarmMs = time
      set.catch(forget) // the next run sets it again
    },
    alarmMoved: () => void (alarmMs = undefined),
    async rest() {
      if (alarmMs === undefined || !isAtRest()) return
      await retention.keep()
      if (!isAtRest()) return
      alarmMs = undefined
      const others = jobs.list().filter((job) => job.id !== id)
      await setAlarm(others[0] && Math.min(...others.map(({ time }) => time)))
    },
    async next(isCarried) {
      if (isCarried && isAtRest()) {
        // If the retention job cannot be stored, this job comes back for that too.
        await retention.keep()
        if (isAtRest()) {
          forget()
          return undefined
        }
      }
      // An object that cannot be reached for hours is not asked every few seconds.
      const failures = Math.max(courier.failures(), traces.failures())
      const factor = isCarried && isQuiet() ? Math.min(2 ** failures, maxBackoffFactor) : 1
      jobMs = clock.nowMs() + timing.recoverEveryMs * factor
      alarmMs = jobMs
      return jobMs
    },
  }
}
