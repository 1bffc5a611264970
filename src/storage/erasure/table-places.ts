import type { ErasurePlace } from '#contracts/erasure.ts'
import type { Database, Statement } from '../database.ts'
import { reached } from '../outage.ts'
import { erasedTables } from './tables.ts'

/** A place for each table of D1 with something to do in it. */
export function createTablePlaces(database: Database): readonly ErasurePlace[] {
  const count = async (statement: Statement) =>
    (await reached(() => statement.all<object>())).results.length
  return Object.entries(erasedTables).flatMap(([table, { rows, where, names = [], set }]) => {
    const gone = where ?? (rows === undefined ? undefined : `${rows} = ?1`)
    return gone === undefined && names.length === 0
      ? []
      : {
          name: table,
          async erase({ principal, pseudonym }) {
            let erased = 0
            if (gone !== undefined) {
              const sql = `DELETE FROM ${table} WHERE ${gone} RETURNING 1`
              erased = await count(database.prepare(sql).bind(principal))
            }
            for (const column of names) {
              const [quoted, instead] = [JSON.stringify(principal), JSON.stringify(pseudonym)]
              const sql = `
                UPDATE ${table} SET ${column} =
                  CASE WHEN ${column} = ?1 THEN ?2 ELSE replace(${column}, ?3, ?4) END${set === undefined ? '' : `, ${set}`}
                WHERE ${column} = ?1 OR instr(${column}, ?3) > 0 RETURNING 1`
              const values = [principal, pseudonym, quoted, instead]
              erased += await count(database.prepare(sql).bind(...values))
            }
            return { erased }
          },
        }
  })
}
