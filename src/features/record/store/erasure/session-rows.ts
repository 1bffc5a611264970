import type { ErasedPerson } from '../../types/erasure.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import { type Database, reached } from '#platform/d1/database.ts'
import { keeper } from '#features/schedules/store/schedules.ts'

/** The sessions of a person, roots first: deleting a root deletes its session tree. */
export interface SessionRows {
  readonly of: (principal: string, limit: number) => Promise<readonly string[]>
  /** Removes the row of a session that no longer exists. */
  readonly remove: (id: string) => Promise<void>
}

export function createSessionRows(database: Database): SessionRows {
  const read = async (principal: string, kind: string, limit: number) => {
    const sql = `SELECT id FROM sessions WHERE principal = ?1 AND kind ${kind} LIMIT ?2`
    const statement = database.prepare(sql).bind(principal, limit)
    return (await reached(() => statement.all<{ id: string }>())).results.map(({ id }) => id)
  }
  return {
    async of(principal, limit) {
      const roots = await read(principal, `<> 'child'`, limit)
      return roots.length > 0 ? roots : read(principal, `= 'child'`, limit)
    },
    remove: async (id) =>
      void (await reached(() =>
        database.prepare('DELETE FROM sessions WHERE id = ?1').bind(id).run(),
      )),
  }
}

/** Pages of data that others have and that may name a person. */
export const createOthersRows = (database: Database) => ({
  /** The owners of objects that keep subscriptions. */
  async subscribers(after: number, limit: number): Promise<readonly ScheduleKeeper[]> {
    const sql = `SELECT DISTINCT ${keeper} FROM schedules WHERE event IS NOT NULL ORDER BY 1 LIMIT ?2 OFFSET ?1`
    const statement = database.prepare(sql).bind(after, limit)
    const { results } = await reached(() => statement.all<{ owner: ScheduleKeeper }>())
    return results.map(({ owner }) => owner)
  },
  /**
   * Sessions of others, of sub-agents too, in which an agent of the person works; after the agent was renamed, by the
   * pseudonym.
   */
  async strangeSessions(
    { principal, pseudonym }: ErasedPerson,
    after: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly principal: string }[]> {
    const sql = `SELECT id, principal FROM sessions WHERE agent IN (SELECT id FROM agents WHERE owner IN (?1, ?2))
      AND principal <> ?1 ORDER BY id LIMIT ?4 OFFSET ?3`
    const statement = database.prepare(sql).bind(principal, pseudonym, after, limit)
    return (await reached(() => statement.all<{ id: string; principal: string }>())).results
  },
})
