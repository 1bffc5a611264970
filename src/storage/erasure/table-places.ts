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
              const sql = `
                UPDATE ${table} SET ${column} =
                  CASE WHEN ${column} = ?1 THEN ?2 ELSE replace(replace(${column}, ?3, ?4), ?5, ?6) END${set === undefined ? '' : `, ${set}`}
                WHERE ${column} = ?1 OR instr(${column}, ?3) > 0 OR instr(${column}, ?5) > 0 RETURNING 1`
              // By itself, and where it is said with whom an agent is shared.
              const inJson = (name: string) => [JSON.stringify(name), `"${name}: `]
              const [names, instead] = [inJson(principal), inJson(pseudonym)]
              const forms = names.flatMap((name, at) => [name, instead[at]!])
              const values = [principal, pseudonym, ...forms]
              erased += await count(database.prepare(sql).bind(...values))
            }
            return { erased }
          },
        }
  })
}
