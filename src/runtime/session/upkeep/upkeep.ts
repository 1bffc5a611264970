import { errorMessage } from '#contracts/errors.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Todo } from '../storage/todo.ts'
import { expirePauses, type OutsideParts } from '../waiting/outside.ts'
import { floorJob, settleDay, type AfterRun, type AfterRunParts } from './after-run.ts'

/** The job that empties the object after its session was deleted. */
export const vanishJob = 'vanish'
/** The job that forgets old tombstones. */
export const tombstonesJob = 'graves'

interface UpkeepParts extends OutsideParts, AfterRunParts {
  readonly todo: Todo
  readonly aftermath: AfterRun
}

/** The work of a session beyond its answers: its timers, its outboxes, and the incidents that it reports. */
export type Upkeep = ReturnType<typeof createUpkeep>

export function createUpkeep(parts: UpkeepParts) {
  const { runtime, todo, live, runs, outbox, courier, traces } = parts
  const { retention, recovery, aftermath, report } = parts
  const { clock, timing } = runtime
  const { jobs } = parts.timers

  const expire = () => expirePauses(parts, { nowMs: clock.nowMs(), pauseMs: timing.pauseMs })

  const recover = async () => {
    if (live.isBehind) runs.resume()
    await courier.carry()
    const isCarried = await outbox.flush()
    report('audit_behind', isCarried ? undefined : 'The database does not take the audit log.')
    report('alarm_failed', undefined)
    expire()
    traces.retry()
    return recovery.next(isCarried)
  }

  const dropTombstones = () => {
    const oldest = todo.dropTombstones(clock.nowMs() - timing.keepGravesMs)
    return oldest === undefined ? undefined : oldest + timing.keepGravesMs
  }

  return {
    report,
    afterRun: aftermath.afterRun,
    carry: aftermath.carry,
    /** Forgets when the alarm comes: it was set to a later time. */
    alarmMoved: recovery.alarmMoved,
    /** Plans the job that deletes the session even if its object ends right after the session has left the list. */
    leaveLater: retention.leave,
    /** Settles a run's spending so far in the principal's day. Rejects if the ledger cannot be reached. */
    settle: async (row: RunRow) => void (await settleDay(row, parts)),
    /** Call it after the object was loaded: finds the timers that have rows. */
    begin: () => {
      recovery.begin()
      void aftermath.watchFloor()
    },
    /** The session was made: it is put on the list of sessions, and its retention job is planned. */
    afterCreate: () => {
      recovery.ensure()
      aftermath.recordSoon()
    },
    /** Plans the job that deletes tombstones once their calls cannot arrive any more. */
    keepTombstones: () => {
      if (jobs.get(tombstonesJob)) return
      const time = clock.nowMs() + timing.keepGravesMs
      const job = { id: tombstonesJob, fn: tombstonesJob, time }
      jobs.push(job).catch(() => {}) // the next tombstone plans it again
    },
    /**
     * Does the work of a due job. @returns When the job comes back, if something is left to do. Never throws: a job
     * that fails for good is forgotten, and with it the runs it was for.
     */
    onJob: async (fn: string) => {
      try {
        if (fn === 'pauses') return expire()
        if (fn === tombstonesJob) return dropTombstones()
        return fn === 'retention' ? await retention.expire() : await recover()
      } catch (error) {
        report('alarm_failed', errorMessage(error))
        if (fn === 'retention') return retention.failed()
        return clock.nowMs() + timing.recoverEveryMs
      }
    },
    /** Plans the job that empties the object, even if the object ends before that. */
    async vanishLater() {
      // The job itself asks for this as well, and must not move itself away.
      if (jobs.get(vanishJob)) return
      const time = clock.nowMs() + timing.vanishAgainMs
      await jobs.push({ id: vanishJob, fn: vanishJob, time })
    },
    /** The session was deleted: cancels its jobs. A job that is left finds nothing to do. Never rejects. */
    end: async () => {
      recovery.end()
      retention.end()
      await Promise.allSettled(
        ['recover', 'pauses', 'retention', tombstonesJob, floorJob].map((job) => jobs.cancel(job)),
      )
    },
  }
}
