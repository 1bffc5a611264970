import { toParts } from './log-rows.ts'

/**
 * Changes what stands in the rows of a session, of the log and of what is kept beside it; where a row stands and what it
 * is found by stays. The caller sees to it that nothing is under way, and that all of it lands together.
 *
 * @returns How many rows are others now.
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
      return undefined // a row that cannot be read is told by whoever reads it
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
      // It may have become a little longer: the last row takes that.
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
    // Read as a whole first: what is written below would be met again.
    for (const row of sql.exec(query).toArray()) {
      const next = other(String(row['text']))
      if (next === undefined) continue
      const update = `UPDATE ${table} SET ${value} = ? WHERE ${first} = ? AND key = ?`
      sql.exec(update, next, String(row['place']), String(row['key']))
    }
  }
  return changed
}
