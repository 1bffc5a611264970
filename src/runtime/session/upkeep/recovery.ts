import type { SessionRuntime } from '../types/runtime.ts'
import type { Courier } from '../waiting/courier.ts'
import { expirePauses, type OutsideParts } from '../waiting/outside.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Report } from './incidents.ts'
import type { Jobs, SetAlarm } from './jobs.ts'
import type { TraceOutbox } from './trace-outbox.ts'

const id = 'recover'
const maxBackoffFactor = 360

/**
 * One job while a run is live or something is to be carried: it comes back until nothing is left to do. Where that is
 * soon, nothing of the job is written again: only the alarm is moved, to the next other timer and with the next run
 * back. The row stays, and is due: whatever sets the alarm by the jobs meanwhile sets it too early, never too late.
 */
export interface Recovery {
  /** After the object was loaded: is there a job already? */
  readonly begin: () => void
  /** Written in the same go as what needs it. */
  readonly ensure: () => void
  /** The alarm was set to later than what is to be done: the next run sets it anew. */
  readonly alarmMoved: () => void
  /** Moves the alarm away if nothing is left to do. Rejects, and leaves it, where `onRest` does. */
  readonly rest: () => Promise<void>
  /** @returns When to come back, if there is something left to do. */
  readonly recover: () => Promise<number | undefined>
  /** Answers the pauses that have run out. @returns When the next one does, if any. */
  readonly expire: () => number | undefined
  readonly end: () => void
}

export interface RecoveryParts extends OutsideParts {
  readonly outbox: AuditOutbox
  readonly courier: Courier
  readonly traces: TraceOutbox
}

export interface RecoveryOptions {
  readonly runtime: Pick<SessionRuntime, 'clock' | 'timing'>
  readonly jobs: Jobs
  readonly setAlarm: SetAlarm
  readonly sessionId: () => string
  readonly parts: () => RecoveryParts
  readonly report: Report
  /** Nothing is left to do: plans what wakes the session then. */
  readonly onRest: () => Promise<void>
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { runtime, jobs, setAlarm, sessionId, parts, report, onRest } = options
  const { clock, timing } = runtime
  /** When the job is due, if there is one. */
  let jobMs: number | undefined
  /** When the alarm comes for it, if it is set for that. */
  let alarmMs: number | undefined
  const inAWhile = () => clock.nowMs() + timing.recoverEveryMs
  const expire = () => expirePauses(parts(), { nowMs: clock.nowMs(), pauseMs: timing.pauseMs })

  const isQuiet = () => {
    const { runs, outbox } = parts()
    return runs.isIdle() && !runs.isBehind() && outbox.isEmpty()
  }
  const isAtRest = () => isQuiet() && parts().courier.isDone() && parts().traces.isDone()

  const forget = () => {
    jobMs = undefined
    alarmMs = undefined
  }

  return {
    expire,
    begin() {
      jobMs = sessionId() === '' ? undefined : jobs.get(id)?.time
    },
    ensure() {
      const time = inAWhile()
      if (alarmMs !== undefined && alarmMs <= time) return
      const isDue = jobMs !== undefined && jobMs <= time
      const set = isDue ? setAlarm(time) : jobs.push({ id, fn: id, time })
      if (!isDue) jobMs = time
      alarmMs = time
      set.catch(forget) // the next run asks for it again
    },
    alarmMoved: () => void (alarmMs = undefined),
    async rest() {
      if (alarmMs === undefined || !isAtRest()) return
      await onRest()
      if (!isAtRest()) return
      alarmMs = undefined
      const others = jobs.list().filter((job) => job.id !== id)
      await setAlarm(others[0] && Math.min(...others.map(({ time }) => time)))
    },
    end: forget,
    async recover() {
      const { runs, outbox, courier, traces } = parts()
      if (runs.isBehind()) runs.resume()
      await courier.carry()
      const isCarried = await outbox.flush()
      report('audit_behind', isCarried ? undefined : 'The database does not take the audit log.')
      report('alarm_failed', undefined)
      expire()
      traces.retry()
      if (isCarried && isAtRest()) {
        // If the session's own end cannot be planned, this job comes back for that too.
        await onRest()
        if (isAtRest()) {
          forget()
          return undefined
        }
      }
      // Somebody who cannot be reached for hours is not asked every few seconds.
      const failures = Math.max(courier.failures(), traces.failures())
      const factor = isCarried && isQuiet() ? Math.min(2 ** failures, maxBackoffFactor) : 1
      jobMs = clock.nowMs() + timing.recoverEveryMs * factor
      alarmMs = jobMs
      return jobMs
    },
  }
}
