import type { Json } from '#contracts/json.ts'
import type { MemoryEntry } from '#contracts/memory.ts'
import type { Space, StorageAnswer, StorageRequest } from '#contracts/session.ts'
import type { Clock } from '#contracts/sources.ts'

const maxValueBytes = 1_048_576
const maxKeyChars = 512

/** Named values and short entries of a session tree, in spaces that do not see each other. */
export function createSpace(storage: DurableObjectStorage, clock: Clock): Space {
  const { sql } = storage
  let isReady: boolean | undefined
  const exists = () =>
    (isReady ??= [...sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'items'`)].length > 0)
  const prepare = () => {
    if (exists()) return
    sql.exec(`CREATE TABLE IF NOT EXISTS items (
      space TEXT, key TEXT, value TEXT, at INTEGER, PRIMARY KEY (space, key)) WITHOUT ROWID`)
    isReady = true
  }

  return function answer(request) {
    // Looking for what was never kept makes no table.
    if (['set', 'append', 'claim'].includes(request.verb)) prepare()
    else if (!exists()) return { found: false, keys: [], entries: [] }
    const { space } = request
    switch (request.verb) {
      case 'get': {
        const [row] = sql.exec(
          'SELECT value FROM items WHERE space = ? AND key = ?',
          space,
          request.key,
        )
        return row
          ? { found: true, value: JSON.parse(String(row['value'])) as Json }
          : { found: false }
      }
      case 'delete': {
        const cursor = sql.exec('DELETE FROM items WHERE space = ? AND key = ?', space, request.key)
        return { found: cursor.rowsWritten > 0 }
      }
      case 'set':
        return set(request)
      case 'claim': {
        const { key, value } = request
        const cursor = sql.exec(
          `INSERT INTO items VALUES (?1, ?2, ?3, ?4) ON CONFLICT (space, key)
            DO UPDATE SET value = ?3, at = ?4 WHERE value <> ?3`,
          space,
          key,
          JSON.stringify(value),
          clock.nowMs(),
        )
        return { found: cursor.rowsWritten === 0 }
      }
      case 'list': {
        const { prefix, limit } = request
        const rows = sql.exec(
          `SELECT key FROM items WHERE space = ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?`,
          space,
          prefix.length,
          prefix,
          Math.max(1, Math.min(limit, 1_000)),
        )
        return { keys: [...rows].map((row) => String(row['key'])) }
      }
      case 'append': {
        const [last] = sql.exec('SELECT max(key) AS key FROM items WHERE space = ?', space)
        const id = String(Number(last?.['key'] ?? 0) + 1).padStart(10, '0')
        const entry: MemoryEntry = { id, text: request.text, atMs: clock.nowMs() }
        sql.exec(
          'INSERT INTO items VALUES (?, ?, ?, ?)',
          space,
          id,
          JSON.stringify(entry.text),
          entry.atMs,
        )
        // Bounded: the oldest go first.
        sql.exec(
          `DELETE FROM items WHERE space = ?1 AND key IN
            (SELECT key FROM items WHERE space = ?1 ORDER BY key DESC LIMIT -1 OFFSET ?2)`,
          space,
          request.maxEntries,
        )
        return { entries: [entry] }
      }
      case 'entries': {
        const rows = sql.exec(
          'SELECT key, value, at FROM items WHERE space = ? ORDER BY key DESC LIMIT ?',
          space,
          request.limit,
        )
        const entries = [...rows].map((row) => ({
          id: String(row['key']),
          text: JSON.parse(String(row['value'])) as string,
          atMs: Number(row['at']),
        }))
        return { entries: entries.reverse() }
      }
      case 'clear':
        sql.exec('DELETE FROM items WHERE space = ?', space)
        return { found: true }
    }
  }

  function set(request: Extract<StorageRequest, { verb: 'set' }>): StorageAnswer {
    const text = JSON.stringify(request.value)
    if (request.key.length === 0 || request.key.length > maxKeyChars) {
      return { error: `The key must have 1 to ${maxKeyChars} characters.` }
    }
    const sizeBytes = new TextEncoder().encode(text).byteLength
    if (sizeBytes > maxValueBytes)
      return { error: `The value is larger than ${maxValueBytes} bytes as JSON.` }
    const [row] = sql.exec(
      'SELECT coalesce(sum(length(CAST(value AS BLOB))), 0) AS used FROM items WHERE space = ? AND key <> ?',
      request.space,
      request.key,
    )
    if (Number(row?.['used']) + sizeBytes > request.quotaBytes) {
      return { error: `The storage quota of ${request.quotaBytes} bytes is used up.` }
    }
    sql.exec(
      'INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)',
      request.space,
      request.key,
      text,
      clock.nowMs(),
    )
    return { found: true }
  }
}
