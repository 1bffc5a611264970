import type { MemoryEntry } from '../types/memory.ts'
import type { StorageAnswer, StorageRequest } from '../types/space.ts'
import { joinLabels, labelSchema, type Label } from '#contracts/label.ts'

type Asked<Verb extends StorageRequest['verb']> = Extract<StorageRequest, { verb: Verb }>

/** A label as its row has it. */
export const toLabelText = (label: Label | undefined): string => JSON.stringify(joinLabels([label]))

/** The joined label of these rows, each label read once. A value without a label counts as least trusted. */
const labelOfRows = (rows: readonly Record<string, SqlStorageValue>[]): Label =>
  joinLabels([...new Set(rows.map(({ label }) => label))].map(parse))

const parse = (text: SqlStorageValue | undefined): Label | undefined =>
  typeof text === 'string' ? labelSchema.safeParse(JSON.parse(text)).data : undefined

/** A value, if there is one. */
export function valueOf(sql: SqlStorage, { space, key }: Asked<'get' | 'delete'>): StorageAnswer {
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
export function keysOf(sql: SqlStorage, { space, prefix, limit }: Asked<'list'>): StorageAnswer {
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
export function append(
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
export function lastEntries(sql: SqlStorage, { space, limit }: Asked<'entries'>): StorageAnswer {
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
