import {
  type PlannedJobs,
  createPlannedJob,
  type PlannedJob,
} from '#platform/objects/planned-job.ts'

export const erasureJob = 'erasure'

/** The job that erases persons. One at a time: two at once would overwrite each other's counts. */
export function createErasureJob(
  jobs: PlannedJobs,
  { erase }: { readonly erase: () => Promise<number | undefined> },
): Pick<PlannedJob, 'at'> & { readonly run: () => ReturnType<PlannedJob['run']> } {
  const { at, run } = createPlannedJob(jobs, erasureJob)
  let underWay: ReturnType<typeof erase> | undefined
  const once = () => (underWay ??= erase().finally(() => (underWay = undefined)))
  return { at, run: () => run(once) }
}
