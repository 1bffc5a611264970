/** The part of an object's jobs that is used here. */
export interface ObjectJobs {
  readonly get: (id: string) => { readonly time: number } | undefined
  readonly push: (job: {
    readonly id: string
    readonly fn: string
    readonly time: number
  }) => Promise<unknown>
}

/** One durable job of an object: it runs at the earliest time that was requested. */
export interface PlannedJob {
  /** After a restart: restores the time of the next run. Makes a table, so only where there is work to do. */
  readonly restore: () => void
  /** Written in the same transaction as the rows that need it. */
  readonly at: (timeMs: number) => void
  /** Runs the job. `work` has to see requests that arrive meanwhile. @returns When it runs again, if it does. */
  readonly run: (
    work: () => Promise<number | undefined>,
  ) => Promise<{ rescheduleAt: number } | undefined>
}

export function createPlannedJob(jobs: ObjectJobs, id: string): PlannedJob {
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
