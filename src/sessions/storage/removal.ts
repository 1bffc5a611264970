import type { LogTable } from './log-table.ts'

/** Rows that go in one step; a row has up to 2 MB. */
const removedAtOnce = 32

/** What may be too much to go in one step, with its key; the session's own row stays to the end. */
const removable = [
  ['items', 'space, key', 'true'],
  ['run_index', 'kind, key', 'true'],
  ['log', 'run, turn, part', 'run > 0'],
] as const

/** Removes some rows of a session that was closed. @returns Whether any were left. */
export function removeSome(read: LogTable<unknown>['read']): boolean {
  for (const [table, key, kept] of removable) {
    const isThere = read('SELECT 1 FROM sqlite_master WHERE name = ?', table).length > 0
    if (!isThere) continue
    if (read(`SELECT 1 FROM ${table} WHERE ${kept} LIMIT 1`).length === 0) continue
    read(`DELETE FROM ${table} WHERE (${key}) IN
      (SELECT ${key} FROM ${table} WHERE ${kept} ORDER BY ${key} LIMIT ${removedAtOnce})`)
    return true
  }
  return false
}
