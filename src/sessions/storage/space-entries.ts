import type { Json } from '#contracts/json.ts'
import type { MemoryEntry } from '#contracts/memory.ts'
import type { StorageRequest } from '#contracts/space.ts'
import type { SpaceLabels } from './space-labels.ts'

type Asked<Verb extends StorageRequest['verb']> = Extract<StorageRequest, { verb: Verb }>

/** A value; undefined if there is none. */
export function valueOf(
  sql: SqlStorage,
  { space, key }: Asked<'get' | 'delete'>,
): Json | undefined {
  const [row] = sql.exec('SELECT value FROM items WHERE space = ? AND key = ?', space, key)
  return row && (JSON.parse(String(row['value'])) as Json)
}

/** The keys of a space that begin so, in their order: 1,000 at most. */
export function keysOf(sql: SqlStorage, { space, prefix, limit }: Asked<'list'>): string[] {
  const rows = sql.exec(
    `SELECT key FROM items WHERE space = ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?`,
    space,
    prefix.length,
    prefix,
    Math.max(1, Math.min(limit, 1_000)),
  )
  return [...rows].map((row) => String(row['key']))
}

/** Writes a short entry behind those that are there. */
export function append(
  sql: SqlStorage,
  { space, text, label, maxEntries }: Asked<'append'>,
  { nowMs, labels }: { readonly nowMs: number; readonly labels: SpaceLabels },
): MemoryEntry {
  const [last] = sql.exec('SELECT max(key) AS key FROM items WHERE space = ?', space)
  const id = String(Number(last?.['key'] ?? 0) + 1).padStart(10, '0')
  sql.exec('INSERT INTO items VALUES (?, ?, ?, ?)', space, id, JSON.stringify(text), nowMs)
  // Bounded: the oldest go first.
  sql.exec(
    `DELETE FROM items WHERE space = ?1 AND key IN
      (SELECT key FROM items WHERE space = ?1 ORDER BY key DESC LIMIT -1 OFFSET ?2)`,
    space,
    maxEntries,
  )
  labels.set(space, id, label)
  labels.sweep(space)
  return { id, text, atMs: nowMs }
}

/** The last entries of a space, the oldest of them first. */
export function lastEntries(sql: SqlStorage, { space, limit }: Asked<'entries'>): MemoryEntry[] {
  const rows = sql.exec(
    'SELECT key, value, at FROM items WHERE space = ? ORDER BY key DESC LIMIT ?',
    space,
    limit,
  )
  const entries = [...rows].map((row) => ({
    id: String(row['key']),
    text: JSON.parse(String(row['value'])) as string,
    atMs: Number(row['at']),
  }))
  return entries.reverse()
}
