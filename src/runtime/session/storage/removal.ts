import type { LogTable } from './log-table.ts'

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
