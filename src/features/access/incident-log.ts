import { headOf } from '#contracts/cut.ts'
import type { Incident, IncidentRecord } from '#runtime/session/types/principal.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { PrincipalStorage } from './principal-rows.ts'

const maxIncidents = 200
const maxMessageChars = 1_000

// `place` orders by the last report, and no clock can reorder it.
const table = `
  CREATE TABLE IF NOT EXISTS incidents (${tablesMark}
    kind TEXT NOT NULL, session TEXT NOT NULL, run TEXT, message TEXT NOT NULL, count INTEGER NOT NULL,
    first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (kind, session)
  ) STRICT, WITHOUT ROWID;`

const upsert = `
  INSERT INTO incidents (kind, session, run, message, count, first_at_ms, last_at_ms, place)
  VALUES (?1, ?2, nullif(?3, ''), ?4, 1, ?5, ?5, (SELECT coalesce(max(place), 0) + 1 FROM incidents))
  ON CONFLICT (kind, session) DO UPDATE SET
    run = excluded.run, message = excluded.message, count = count + 1,
    last_at_ms = excluded.last_at_ms, place = excluded.place`

/**
 * The last 200 incidents of all sessions, in the operator's object. A kind in one session is one row, until it is
 * over.
 */
export function createIncidentLog(storage: PrincipalStorage) {
  const { sql } = storage
  const exists = () =>
    sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'incidents'`).toArray().length > 0
  return {
    report({ kind, session, run, message, isOver }: Incident, nowMs: number): void {
      if (isOver) {
        if (exists())
          sql.exec('DELETE FROM incidents WHERE kind = ? AND session = ?', kind, session)
        return
      }
      storage.transactionSync(() => {
        sql.exec(table)
        sql.exec(upsert, kind, session, run ?? '', headOf(message, maxMessageChars), nowMs)
        sql.exec(
          'DELETE FROM incidents WHERE place <= (SELECT place FROM incidents ORDER BY place DESC LIMIT 1 OFFSET ?)',
          maxIncidents,
        )
      })
    },
    /** Newest first. */
    list(limit: number): readonly IncidentRecord[] {
      if (!exists()) return []
      return sql
        .exec('SELECT * FROM incidents ORDER BY place DESC LIMIT ?', limit)
        .toArray()
        .map(toRecord)
    },
  }
}

const toRecord = (row: Record<string, unknown>): IncidentRecord => ({
  kind: row['kind'] as IncidentRecord['kind'], // the column holds what `report` wrote
  session: String(row['session']),
  ...(row['run'] !== null && { run: String(row['run']) }),
  message: String(row['message']),
  count: Number(row['count']),
  firstAtMs: Number(row['first_at_ms']),
  lastAtMs: Number(row['last_at_ms']),
})
