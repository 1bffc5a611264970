import type { PlannedJobs } from '#platform/objects/planned-job.ts'
import { createPlannedJob, type PlannedJob } from '#platform/objects/planned-job.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { Clock } from '#contracts/sources.ts'
import type { PrincipalStorage } from '#features/access/principal-rows.ts'

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

/**
 * Removes every row of an object's own tables. The tables stay, because other code of the object has them open.
 * Tables of the platform and of its jobs are left alone.
 *
 * @returns How many rows there were.
 */
const emptyTables = (storage: PrincipalStorage): number =>
  storage.transactionSync(() => {
    const all = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'cf\\_%' ESCAPE '\\'`
    return storage.sql
      .exec(all)
      .toArray()
      .reduce((sum, { name }) => {
        const [row] = storage.sql.exec(`SELECT count(*) AS rows FROM "${String(name)}"`).toArray()
        storage.sql.exec(`DELETE FROM "${String(name)}"`)
        return sum + Number(row?.['rows'] ?? 0)
      }, 0)
  })

/** The number of removed rows as a reply. */
export const emptied = (storage: PrincipalStorage): ObjectReply<number> => ({
  ok: true,
  value: emptyTables(storage),
})

/** Pause before the object is aborted, so that its reply leaves first. Milliseconds. */
const leaveMs = 50

/**
 * Deletes an object's rows, and then its database: free pages still contain the deleted texts. The object's memory of
 * its tables is wrong from then on, so the object aborts, and the next caller reaches a new instance.
 */
export async function emptyObject<T>(
  state: Pick<DurableObjectState, 'storage' | 'waitUntil' | 'abort'>,
  { clock }: { readonly clock: Clock },
  empty: () => Promise<T>,
): Promise<T> {
  const answer = await empty()
  await state.storage.deleteAll()
  const leave = () => state.abort('What this object kept is erased.')
  state.waitUntil(clock.sleep(leaveMs).then(leave))
  return answer
}
