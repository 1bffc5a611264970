import type { DeploymentEvent } from '#contracts/event.ts'
import type { Database } from './database.ts'
import { eventRow } from './deployment-log.ts'
import { reached } from './outage.ts'

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
