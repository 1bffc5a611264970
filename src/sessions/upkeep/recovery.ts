import type { SessionRuntime } from '#contracts/runtime.ts'
import { expirePauses } from '../waiting/outside.ts'
import type { Report } from './incidents.ts'
import type { Jobs } from './jobs.ts'
import type { UpkeepParts } from './upkeep.ts'

const maxBackoffFactor = 360

/** One job while a run is live or something is to be carried: it comes back until nothing is left to do. */
export interface Recovery {
  /** After the object was loaded: is there a job already? */
  readonly begin: () => void
  /** Written in the same go as what needs it. */
  readonly ensure: () => void
  /** @returns When to come back, if there is something left to do. */
  readonly recover: () => Promise<number | undefined>
  /** Answers the pauses that have run out. @returns When the next one does, if any. */
  readonly expire: () => number | undefined
  readonly end: () => void
}

export interface RecoveryOptions {
  readonly runtime: Pick<SessionRuntime, 'clock' | 'timing'>
  readonly jobs: Jobs
  readonly sessionId: () => string
  readonly parts: () => UpkeepParts
  readonly report: Report
  /** Nothing is left to do. */
  readonly onRest: () => void
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { runtime, jobs, sessionId, parts, report, onRest } = options
  const { clock, timing } = runtime
  let hasRecoveryJob = false
  const inAWhile = () => clock.nowMs() + timing.recoverEveryMs
  const expire = () => expirePauses(parts(), { nowMs: clock.nowMs(), pauseMs: timing.pauseMs })

  return {
    expire,
    begin() {
      hasRecoveryJob = sessionId() !== '' && jobs.get('recover') !== undefined
    },
    ensure() {
      if (hasRecoveryJob) return
      hasRecoveryJob = true
      jobs.push({ id: 'recover', fn: 'recover', time: inAWhile() }).catch(() => {
        hasRecoveryJob = false // the next run asks for it again
      })
    },
    end() {
      hasRecoveryJob = false
    },
    async recover() {
      const { runs, outbox, courier, traces } = parts()
      if (runs.isBehind()) runs.resume()
      await courier.carry()
      const isCarried = await outbox.flush()
      report('audit_behind', isCarried ? undefined : 'The database does not take the audit log.')
      report('alarm_failed', undefined)
      expire()
      traces.retry()
      const isQuiet = runs.isIdle() && !runs.isBehind() && isCarried && outbox.isEmpty()
      if (isQuiet && courier.isDone() && traces.isDone()) {
        hasRecoveryJob = false
        onRest()
        return undefined
      }
      // Somebody who cannot be reached for hours is not asked every few seconds.
      const failures = Math.max(courier.failures(), traces.failures())
      const factor = isQuiet ? Math.min(2 ** failures, maxBackoffFactor) : 1
      return clock.nowMs() + timing.recoverEveryMs * factor
    },
  }
}
