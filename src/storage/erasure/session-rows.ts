import type { Database } from '../database.ts'
import { reached } from '../outage.ts'

/** The sessions of a person, those that stand alone first: what is below one goes with it. */
export interface SessionRows {
  readonly of: (principal: string, limit: number) => Promise<readonly string[]>
  /** Of one that is not there any more. */
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
