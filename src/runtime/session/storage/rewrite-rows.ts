import type { LogTable } from './log-table.ts'
import { toParts } from './log-rows.ts'

/** The most rows and bytes that one step removes; a row has up to 2 MB. */
const maxRows = 256
const maxBytes = 4 * 1_048_576

/** Tables that may be too large for one step, with key and content; the session's own row stays to the end. */
const removable = [
  ['items', 'space, key', 'value', 'true'],
  ['run_index', 'kind, key', 'value', 'true'],
  ['log', 'run, turn, part', 'body', 'run > 0'],
] as const

/** Removes some rows of a session that was closed. @returns Whether any were left. */
export function removeSome(read: LogTable<unknown>['read']): boolean {
  for (const [table, key, content, kept] of removable) {
    const isThere = read('SELECT 1 FROM sqlite_master WHERE name = ?', table).length > 0
    if (!isThere) continue
    const rows = read(`SELECT octet_length(${content}) AS bytes FROM ${table} WHERE ${kept}
      ORDER BY ${key} LIMIT ${maxRows}`)
    if (rows.length === 0) continue
    read(
      `DELETE FROM ${table} WHERE (${key}) IN
        (SELECT ${key} FROM ${table} WHERE ${kept} ORDER BY ${key} LIMIT ?)`,
      fitting(rows.map((row) => Number(row['bytes']))),
    )
    return true
  }
  return false
}

/** The number of rows in one step; at least one. */
function fitting(sizes: readonly number[]): number {
  let bytes = 0
  const isEnough = (size: number) => (bytes += size) > maxBytes
  const last = sizes.findIndex(isEnough)
  return last < 0 ? sizes.length : last + 1
}

/**
 * Changes the contents of a session's rows, in its log and its other tables; keys and columns stay. The caller makes
 * sure that no run is under way, and that all rows change in one transaction.
 *
 * @returns The number of changed rows.
 */
export function rewriteRows(sql: SqlStorage, change: (value: unknown) => unknown): number {
  const has = (table: string) =>
    [...sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', table)].length > 0
  let changed = 0
  const other = (text: string): string | undefined => {
    try {
      const next = JSON.stringify(change(JSON.parse(text)))
      if (next === text) return undefined
      changed += 1
      return next
    } catch {
      return undefined // the reader of an unreadable row reports it
    }
  }
  const log = has('log') ? [...sql.exec('SELECT DISTINCT run, turn FROM log')] : []
  for (const { run, turn } of log) {
    const where = [Number(run), Number(turn)]
    const query = 'SELECT part, body FROM log WHERE run = ? AND turn = ? ORDER BY part'
    const rows = [...sql.exec(query, ...where)]
    const next = other(rows.map(({ body }) => String(body)).join(''))
    if (next === undefined) continue
    const parts = toParts(next)
    for (const [at, { part }] of rows.entries()) {
      // The text may have become a little longer: the last part takes the rest.
      const body = at === rows.length - 1 ? parts.slice(at).join('') : (parts[at] ?? '')
      const update = 'UPDATE log SET body = ? WHERE run = ? AND turn = ? AND part = ?'
      sql.exec(update, body, ...where, Number(part))
    }
  }
  const beside = [
    ['items', 'space', 'value'],
    ['todo', 'key', 'body'],
  ] as const
  for (const [table, first, value] of beside) {
    if (!has(table)) continue
    const query = `SELECT ${first} AS place, key, ${value} AS text FROM ${table}`
    // Read as a whole first: the cursor would meet the rows that are written below.
    for (const row of sql.exec(query).toArray()) {
      const next = other(String(row['text']))
      if (next === undefined) continue
      const update = `UPDATE ${table} SET ${value} = ? WHERE ${first} = ? AND key = ?`
      sql.exec(update, next, String(row['place']), String(row['key']))
    }
  }
  return changed
}
