import type { DeploymentEvent } from '#contracts/event.ts'
import type { DeploymentLogs } from './types.ts'
import type { Database, Statement } from './database.ts'
import { reached } from './database.ts'
import { idsPerMs, newestId, nowMs } from './record-sql.ts'

/**
 * The deployment's own events are the log of no session, a row each. Their ids are places among those of all events:
 * one cursor and one reader for both. The next `seq` is found by the unique index; D1 writes one thing at a time, so
 * none is given twice.
 */
const insert = (condition: string, data: string) => `
  INSERT INTO audit (id, session, since_ms, seq, run, trace, agent, principal, type, at_ms, data)
  SELECT max(${newestId}, ${nowMs} * ${idsPerMs}) + 1, '', 0, coalesce((SELECT max(seq) FROM audit WHERE session = '' AND since_ms = 0), 0) + 1,
    '', ?1, '', ?2, ?3, ?4, ${data}
  WHERE ${condition}`

/** Writes events that are of no session. Throws `request_unavailable` while D1 is away. */
export function createDeploymentLog(database: Database): DeploymentLogs {
  return {
    async append(event, onceBy) {
      const only = onceBy === undefined ? undefined : notYet(event, onceBy)
      await reached(() => eventRow(database, event, only).run())
    },
    appendAll: async (events) => {
      const rows = events.map((event) => eventRow(database, event))
      if (rows.length > 0) await reached(() => database.batch(rows))
    },
  }
}

const notYet = ({ type, data }: DeploymentEvent, field: string) => ({
  condition: `NOT EXISTS (SELECT 1 FROM audit AS a WHERE a.session = '' AND a.type = ?6 AND a.data->>?7 = ?8)`,
  values: [type, field, String(Object(data)[field])],
})

/**
 * The statement that writes an event, for one batch with the change it reports.
 *
 * @param only The event is written only if this holds before the change: `?6` and on are its values. `data` is SQL
 *   for what the event tells, if the database is to add to `?5`.
 */
export function eventRow(
  database: Database,
  { trace, principal, type, atMs, data }: DeploymentEvent,
  only: {
    readonly condition: string
    readonly values: readonly (string | number)[]
    readonly data?: string
  } = { condition: 'true', values: [] },
): Statement {
  return database
    .prepare(insert(only.condition, only.data ?? '?5'))
    .bind(trace, principal, type, atMs, JSON.stringify(data), ...only.values)
}

// A key that another key replaced has ended, but work that was begun with it goes on.
const credential = {
  open: () => '(revoked_at_ms IS NULL OR followed_by IS NOT NULL)',
  end: 'revoked_at_ms = coalesce(revoked_at_ms, ?2), followed_by = NULL',
}
const revocable = {
  keys: credential,
  oauth_grants: credential,
  // Its row stays until it is swept: a session that says the same approval once more finds it taken back.
  approval_rules: {
    open: (nowMs: number) => `expires_at_ms > ${Math.floor(nowMs)}`,
    end: 'expires_at_ms = ?2',
  },
} as const

/**
 * Revokes a row of these tables and writes the event, in one transaction. A row that has ended stays as it ended,
 * without an event. Throws `request_unavailable`.
 *
 * @returns Whether the row was still in force.
 */
export async function revokeRow(
  database: Database,
  table: keyof typeof revocable,
  { id, event }: { readonly id: string; readonly event: DeploymentEvent },
): Promise<boolean> {
  const { open, end } = revocable[table]
  const isOpen = open(event.atMs)
  const only = {
    condition: `EXISTS (SELECT 1 FROM ${table} WHERE id = ?6 AND ${isOpen})`,
    values: [id],
  }
  const update = `UPDATE ${table} SET ${end} WHERE id = ?1 AND ${isOpen} RETURNING id`
  const statements = [
    eventRow(database, event, only),
    database.prepare(update).bind(id, event.atMs),
  ]
  const [, ended] = await reached(() => database.batch(statements))
  return (ended?.results.length ?? 0) > 0
}
