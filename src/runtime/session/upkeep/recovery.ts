import type { SessionRuntime } from '../types/runtime.ts'
import type { LiveRuns } from '../runs/live-runs.ts'
import type { Courier } from '../waiting/courier.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Timers } from './timers.ts'
import type { TraceOutbox } from './trace-outbox.ts'
import { lastUsedMs } from '../log/views.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionRow } from '../storage/stored-rows.ts'
import type { Todo } from '../storage/todo.ts'

const id = 'recover'
/** Doubles with each failure, from `recoverEveryMs`: an hour at most. */
const maxBackoffFactor = 360

/**
 * The timer of one job that comes back while a run is live or an outbox has rows. Where the outboxes are soon empty,
 * the row of the job is not written again: only the alarm is moved, to the next other timer, and back with the next
 * run. The row stays, and is due, so an alarm that follows the rows meanwhile comes too early, never too late.
 */
export type Recovery = ReturnType<typeof createRecovery>

export interface RecoveryParts {
  readonly runtime: SessionRuntime
  readonly identity: { readonly id: string }
  readonly timers: Timers
  readonly live: LiveRuns
  readonly outbox: AuditOutbox
  readonly courier: Courier
  readonly traces: TraceOutbox
  readonly retention: Retention
}

export function createRecovery(parts: RecoveryParts) {
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
    /** The job was cancelled. */
    end: forget,
    /** Call it after the object was loaded: looks whether the job has a row. */
    begin: () => {
      jobMs = identity.id === '' ? undefined : jobs.get(id)?.time
    },
    /** Sets the timer, in the same transaction as the work that needs it. */
    ensure: () => {
      const time = clock.nowMs() + timing.recoverEveryMs
      if (alarmMs !== undefined && alarmMs <= time) return
      const isDue = jobMs !== undefined && jobMs <= time
      const set = isDue ? setAlarm(time) : jobs.push({ id, fn: id, time })
      if (!isDue) jobMs = time
      alarmMs = time
      set.catch(forget) // the next run sets it again
    },
    /** Forgets when the alarm comes: it was set to a later time. The next run sets it anew. */
    alarmMoved: () => void (alarmMs = undefined),
    /**
     * Moves the alarm away if nothing is left to do. Rejects, and leaves it, where the retention job cannot be
     * stored.
     */
    rest: async () => {
      if (alarmMs === undefined || !isAtRest()) return
      await retention.keep()
      if (!isAtRest()) return
      alarmMs = undefined
      const others = jobs.list().filter((job) => job.id !== id)
      await setAlarm(others[0] && Math.min(...others.map(({ time }) => time)))
    },
    /** The job has done its work. @returns When it comes back, if something is left to do. */
    async next(isCarried: boolean) {
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

const retentionJob = 'retention'
/** The longest time until a session notices a shorter retention. */
const lookEveryMs = 30 * 86_400_000

/**
 * One job for the life of the session: when it is due, it looks whether the session was used meanwhile. A child ends
 * with the session above it, or by itself if that session is gone already.
 */
export type Retention = ReturnType<typeof createRetention>

export interface SessionRetentionOptions {
  readonly runtime: SessionRuntime
  readonly timers: Timers
  readonly store: SessionStore
  readonly live: LiveRuns
  readonly todo: Todo
  /** The session was not used for its retention time: its owner deletes it. */
  readonly onExpired: () => Promise<void>
}

export function createRetention(options: SessionRetentionOptions) {
  const { runtime, timers, store, live, todo, onExpired } = options
  const { clock, timing, sessions } = runtime
  const { jobs } = timers
  /** The job is planned: it ends when it is due, or with the session. */
  let isKept = false
  const nextLookMs = (dueMs: number) => Math.min(dueMs, clock.nowMs() + lookEveryMs)
  const expiresAtMs = (session: SessionRow) => {
    if (session.isLeaving) return 0
    return session.keepMs === undefined
      ? lastUsedMs(store, session) +
          (session.isStateless ? timing.keepStatelessMs : timing.keepNamedMs)
      : session.createdAtMs + session.keepMs
  }
  /** The session above, if it exists and has the run of the call, knows this child. */
  const isKnownAbove = async ({ lineage, isLeaving }: SessionRow): Promise<boolean> => {
    if (!lineage || isLeaving) return false
    const { state } = await sessions.at(lineage.parentSession).spentBy(lineage.parentRun)
    return state !== 'unknown'
  }

  return {
    /** Plans the job, unless it is planned. Rejects if it could not be stored. */
    keep: async () => {
      const session = store.session()
      if (!session || isKept) return
      isKept = jobs.get(retentionJob) !== undefined
      if (isKept) return
      const time = nextLookMs(expiresAtMs(session))
      await jobs.push({ id: retentionJob, fn: retentionJob, time })
      isKept = true
    },
    /** Deletes the session if its time is over. @returns When to look again. Rejects if it could not be deleted. */
    expire: async () => {
      isKept = false
      const session = store.session()
      if (!session) return undefined
      const dueMs = expiresAtMs(session)
      if (clock.nowMs() < dueMs) {
        todo.setTries(retentionJob, 0)
        return nextLookMs(dueMs)
      }
      if (!live.isIdle()) return clock.nowMs() + timing.recoverEveryMs
      if (await isKnownAbove(session)) return clock.nowMs() + lookEveryMs
      await onExpired()
      return undefined
    },
    /**
     * Plans the job anew for a session that leaves the list in a moment: it deletes the session even if its object
     * ends.
     */
    leave: async () => {
      const time = clock.nowMs() + timing.recoverEveryMs
      await jobs.push({ id: retentionJob, fn: retentionJob, time })
    },
    /** The job was cancelled. */
    end: () => void (isKept = false),
    /**
     * The deletion failed. @returns When it is tried again: less and less often, also after the object was loaded
     * anew.
     */
    failed: () => {
      const tries = todo.tries(retentionJob)
      const factor = Math.min(2 ** tries, maxBackoffFactor)
      // Without a working disk, the first wait has to do.
      try {
        todo.setTries(retentionJob, tries + 1)
      } catch {
        return clock.nowMs() + timing.recoverEveryMs
      }
      return clock.nowMs() + timing.recoverEveryMs * factor
    },
  }
}
