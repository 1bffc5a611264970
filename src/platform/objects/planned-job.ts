import type { ScheduleJobs } from '#runtime/session/types/schedule-object.ts'

/** One durable job of an object: it comes at the earliest time that somebody asked for. */
export interface PlannedJob {
  /** After a restart: when it was to come. Makes a table, so only where there is something to do. */
  readonly restore: () => void
  /** Written in the same go as what needs it. */
  readonly at: (timeMs: number) => void
  /** Does what it is for. What is asked for meanwhile is `work`'s to see. @returns When it comes again, if it does. */
  readonly run: (
    work: () => Promise<number | undefined>,
  ) => Promise<{ rescheduleAt: number } | undefined>
}

export function createPlannedJob(jobs: ScheduleJobs, id: string): PlannedJob {
  /** When it is due that was asked for; undefined if there is none. */
  let dueMs: number | undefined
  return {
    restore: () => void (dueMs = jobs.get(id)?.time),
    at(timeMs) {
      if ((dueMs ?? Infinity) <= timeMs) return
      dueMs = timeMs
      jobs.push({ id, fn: id, time: timeMs }).catch(() => {
        dueMs = undefined // the next one who needs it, or the next start, asks for it again
      })
    },
    async run(work) {
      dueMs = 0
      dueMs = await work()
      return dueMs === undefined ? undefined : { rescheduleAt: dueMs }
    },
  }
}
