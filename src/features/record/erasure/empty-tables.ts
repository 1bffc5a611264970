import type { Reply } from '#contracts/reply.ts'
import type { Clock } from '#contracts/sources.ts'
import type { PrincipalStorage } from '#features/access/principal-rows.ts'

/**
 * Removes every row of an object's own tables. The tables stay: who has them open goes on. What the platform and its
 * jobs keep is not the object's.
 *
 * @returns How many there were.
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

/** The same as an answer. */
export const emptied = (storage: PrincipalStorage): Reply<number> => ({
  ok: true,
  value: emptyTables(storage),
})

/** The answer to the erasure has left by then. */
const leaveMs = 50

/**
 * The rows of an object, and then its database: pages that rows leave behind still have what was in them. What the
 * object remembers of its tables holds no more, so it leaves, and the next caller is sent to a new one.
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
