import type { ErasedPerson, ErasurePlace } from '../../types/erasure.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/outage.ts'
import { erasedTables, type ErasedTable } from './tables.ts'

/** A place for each table of D1 that can name a person. */
export function createTablePlaces(database: Database): readonly ErasurePlace[] {
  const count = async (statement: Statement) =>
    (await reached(() => statement.all<object>())).results.length
  return Object.entries(erasedTables).flatMap(([table, what]) =>
    what.not !== undefined
      ? []
      : {
          name: table,
          async erase(person) {
            let erased = 0
            for (const [sql, ...values] of changesOf(table, what, person))
              erased += await count(database.prepare(sql).bind(...values))
            return { erased }
          },
        },
  )
}

/** The table's statements, each with its values. */
function changesOf(
  table: string,
  { rows, where, names = [], set, values = {}, keys = {}, lines = {} }: ErasedTable,
  { principal, pseudonym }: ErasedPerson,
): readonly (readonly [string, ...string[]])[] {
  const change = (column: string, to: string, having: string) =>
    `UPDATE ${table} SET ${column} = ${to} WHERE ${having} RETURNING 1`
  const renamed = set === undefined ? '?2' : `?2, ${set}`
  const gone = where ?? (rows === undefined ? undefined : `${rows} = ?1`)
  const both = [principal, pseudonym] as const
  return [
    ...(gone === undefined
      ? []
      : [[`DELETE FROM ${table} WHERE ${gone} RETURNING 1`, principal] as const]),
    ...names.map((name) => [change(name, renamed, `${name} = ?1`), ...both] as const),
    ...Object.entries(values).map(([name, path]) => {
      const sql = change(name, `json_set(${name}, '${path}', ?2)`, `${name} ->> '${path}' = ?1`)
      return [sql, ...both] as const
    }),
    ...Object.entries(keys).map(([name, path]) => {
      const to = `json_set(json_remove(${name}, ?1), ?2, json(${name} -> ?1))`
      const sql = change(name, to, `json_type(${name}, ?1) IS NOT NULL`)
      return [sql, `${path}."${principal}"`, `${path}."${pseudonym}"`] as const
    }),
    ...Object.entries(lines).map(([name, field]) => {
      // JSON escapes quotes inside a text, so this matches a field and never a quoted text.
      const [head, instead] = both.map((one) => `"${field}":"${one}: `)
      const sql = change(name, `replace(${name}, ?1, ?2)`, `instr(${name}, ?1) > 0`)
      return [sql, head!, instead!] as const
    }),
  ]
}
