import type { MemoryEntry, StorageAnswer, StorageRequest, Space } from '#contracts/space.ts'
import { joinLabels, labelSchema, type Label } from '#contracts/label.ts'
import type { Clock } from '#contracts/sources.ts'
import { tablesMark } from '#contracts/objects.ts'

type Asked<Verb extends StorageRequest['verb']> = Extract<StorageRequest, { verb: Verb }>

/** A label as its row has it. */
const toLabelText = (label: Label | undefined): string => JSON.stringify(joinLabels([label]))

/** The joined label of these rows, each label read once. A value without a label counts as least trusted. */
const labelOfRows = (rows: readonly Record<string, SqlStorageValue>[]): Label =>
  joinLabels([...new Set(rows.map(({ label }) => label))].map(parse))

const parse = (text: SqlStorageValue | undefined): Label | undefined =>
  typeof text === 'string' ? labelSchema.safeParse(JSON.parse(text)).data : undefined

/** A value, if there is one. */
function valueOf(sql: SqlStorage, { space, key }: Asked<'get' | 'delete'>): StorageAnswer {
  const rows = [
    ...sql.exec('SELECT value, label FROM items WHERE space = ? AND key = ?', space, key),
  ]
  const [row] = rows
  if (!row) return { found: false }
  return { found: true, value: JSON.parse(String(row['value'])), label: labelOfRows(rows) }
}

/** Sorts after every character of a key. A range is read in the table's own order. */
const lastSign = '\u{10ffff}'

/** The keys of a space with this prefix, in order: 1,000 at most. */
function keysOf(sql: SqlStorage, { space, prefix, limit }: Asked<'list'>): StorageAnswer {
  const rows = [
    ...sql.exec(
      `SELECT key, label FROM items
        WHERE space = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?`,
      space,
      prefix,
      prefix + lastSign,
      Math.max(1, Math.min(limit, 1_000)),
    ),
  ]
  return { keys: rows.map((row) => String(row['key'])), label: labelOfRows(rows) }
}

/** Adds a short entry at the end. */
function append(
  sql: SqlStorage,
  { space, text, label, maxEntries, maxChars }: Asked<'append'>,
  nowMs: number,
): MemoryEntry {
  const [last] = sql.exec('SELECT max(key) AS key FROM items WHERE space = ?', space)
  const id = String(Number(last?.['key'] ?? 0) + 1).padStart(10, '0')
  const row = [space, id, JSON.stringify(text), nowMs, toLabelText(label)]
  sql.exec('INSERT INTO items VALUES (?, ?, ?, ?, ?)', ...row)
  // Bounded: the oldest go first.
  sql.exec(
    `DELETE FROM items WHERE space = ?1 AND key IN
      (SELECT key FROM items WHERE space = ?1 ORDER BY key DESC LIMIT -1 OFFSET ?2)`,
    space,
    maxEntries,
  )
  if (maxChars !== undefined)
    sql.exec(
      `DELETE FROM items WHERE space = ?1 AND key IN (SELECT key FROM
        (SELECT key, sum(length(value)) OVER (ORDER BY key DESC) AS chars FROM items WHERE space = ?1)
        WHERE chars > ?2 AND key <> ?3)`,
      space,
      maxChars,
      id,
    )
  return { id, text, atMs: nowMs }
}

/** The last entries of a space, the oldest of them first. */
function lastEntries(sql: SqlStorage, { space, limit }: Asked<'entries'>): StorageAnswer {
  const query = `SELECT key, value, at, label FROM items
    WHERE space = ? ORDER BY key DESC LIMIT ?`
  const rows = [...sql.exec(query, space, limit)]
  const entries = rows.map((row) => ({
    id: String(row['key']),
    text: JSON.parse(String(row['value'])) as string,
    atMs: Number(row['at']),
  }))
  return { entries: entries.reverse(), label: labelOfRows(rows) }
}

const maxValueBytes = 1_048_576
const maxKeyChars = 512
/** The share of a quota that stays filled after the oldest values were removed. */
const keptShare = 7 / 8
/** SQLite reads this from the row's header, without the value itself. */
const sizeInBytes = 'octet_length(value)'

const problemOf = (key: string, sizeBytes: number): string | undefined => {
  if (key.length === 0 || key.length > maxKeyChars)
    return `The key must have 1 to ${maxKeyChars} characters.`
  return sizeBytes > maxValueBytes
    ? `The value is larger than ${maxValueBytes} bytes as JSON.`
    : undefined
}

/** Named values and short entries of a session, in spaces that do not see each other. */
export function createSpace(storage: DurableObjectStorage, clock: Clock): Space {
  const { sql } = storage
  let isReady: boolean | undefined
  /** The bytes of each space's values: summed once, then kept up to date. Only for spaces that were written. */
  const used = new Map<string, number>()
  const exists = () =>
    (isReady ??= [...sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'items'`)].length > 0)
  const prepare = () => {
    if (exists()) return
    sql.exec(`CREATE TABLE IF NOT EXISTS items (${tablesMark}
      space TEXT, key TEXT, value TEXT, at INTEGER, label TEXT, PRIMARY KEY (space, key)) WITHOUT ROWID`)
    isReady = true
  }

  return function answer(request) {
    // A read makes no table.
    if (['set', 'append', 'claim'].includes(request.verb)) prepare()
    else if (!exists()) return { found: false, keys: [], entries: [] }
    const { space } = request
    switch (request.verb) {
      case 'get':
        return valueOf(sql, request)
      case 'delete': {
        const before = used.has(space) ? sizeOf(space, request.key) : 0
        const cursor = sql.exec('DELETE FROM items WHERE space = ? AND key = ?', space, request.key)
        if (used.has(space)) used.set(space, used.get(space)! - before)
        return { found: cursor.rowsWritten > 0 }
      }
      case 'set':
        return set(request)
      case 'claim': {
        const { key, value } = request
        used.delete(space)
        const cursor = sql.exec(
          `INSERT INTO items VALUES (?1, ?2, ?3, ?4, NULL) ON CONFLICT (space, key)
            DO UPDATE SET value = ?3, at = ?4, label = NULL WHERE value <> ?3`,
          space,
          key,
          JSON.stringify(value),
          clock.nowMs(),
        )
        return { found: cursor.rowsWritten === 0 }
      }
      case 'list':
        return keysOf(sql, request)
      case 'append': {
        used.delete(space)
        const write = () => append(sql, request, clock.nowMs())
        return { entries: [storage.transactionSync(write)] }
      }
      case 'entries':
        return lastEntries(sql, request)
      case 'clear':
        sql.exec('DELETE FROM items WHERE space = ?', space)
        used.delete(space)
        return { found: true }
    }
  }

  function set(request: Extract<StorageRequest, { verb: 'set' }>): StorageAnswer {
    const text = JSON.stringify(request.value)
    const sizeBytes = new TextEncoder().encode(text).byteLength
    const error = problemOf(request.key, sizeBytes)
    if (error !== undefined) return { error }
    const { space, key, quotaBytes, evicts = false } = request
    const before = request.joins ? valueOf(sql, { verb: 'get', space, key }) : { found: false }
    const label = before.found ? joinLabels([before.label, request.label]) : request.label
    const others = usedIn(space) - sizeOf(space, key)
    const isFull = others + sizeBytes > quotaBytes
    if (isFull && (!evicts || sizeBytes > quotaBytes)) {
      return { error: `The storage quota of ${quotaBytes} bytes is used up.` }
    }
    let left = others
    // All of it or nothing: where the new value cannot be written, the old ones stay.
    storage.transactionSync(() => {
      // Removes more than is needed, so that not every further write has to search for the oldest values.
      if (isFull) left = evict(space, key, quotaBytes * keptShare - sizeBytes)
      const row = [space, key, text, clock.nowMs(), toLabelText(label)]
      sql.exec('INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)', ...row)
    })
    used.set(space, left + sizeBytes)
    return { found: true }
  }

  function usedIn(space: string): number {
    const known = used.get(space)
    if (known !== undefined) return known
    const query = `SELECT coalesce(sum(${sizeInBytes}), 0) AS used FROM items WHERE space = ?`
    const sum = Number([...sql.exec(query, space)][0]?.['used'])
    used.set(space, sum) // cached even if the write is refused: the caller may retry
    return sum
  }
  function sizeOf(space: string, key: string): number {
    const query = `SELECT ${sizeInBytes} AS size FROM items WHERE space = ? AND key = ?`
    return Number([...sql.exec(query, space, key)][0]?.['size'] ?? 0)
  }

  /** Removes the oldest values, except that of one key, until the others fit into `maxBytes`. @returns Their bytes. */
  function evict(space: string, kept: string, maxBytes: number): number {
    let left = usedIn(space) - sizeOf(space, kept)
    const query = `SELECT key, ${sizeInBytes} AS size FROM items WHERE space = ? AND key <> ?
      ORDER BY at, key`
    for (const row of sql.exec(query, space, kept).toArray()) {
      if (left <= maxBytes) break
      sql.exec('DELETE FROM items WHERE space = ? AND key = ?', space, row['key'])
      left -= Number(row['size'])
    }
    return left
  }
}
