import { errorMessage } from '#contracts/errors.ts'
import type { DatabaseState, Readiness } from '#contracts/operations.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Database } from './database.ts'

/** The newest file of `migrations/` that this version needs; a test holds the two together. */
export const neededMigration = '0031_agent_heads.sql'

const message =
  'The database has no tables for this version. Locally run `npm start`, which makes them; for a deployment run ' +
  '`npx wrangler d1 migrations apply DB --remote`.'

/** Whether the database answers at all, asked anew each time; one that takes longer than `timeoutMs` does not. */
export async function readDatabaseState(
  database: Database,
  { clock, timeoutMs }: { readonly clock: Pick<Clock, 'sleep'>; readonly timeoutMs: number },
): Promise<DatabaseState> {
  const late = new AbortController()
  try {
    const answer = async () => database.prepare('SELECT 1').first()
    return await Promise.race([
      answer().then(() => 'ok' as const),
      clock.sleep(timeoutMs, late.signal).then(() => 'unreachable' as const),
    ])
  } catch {
    return 'unreachable'
  } finally {
    late.abort()
  }
}

/**
 * Looks up whether the newest migration was applied: one row of the table wrangler keeps. Never throws; the
 * caller keeps a `ready` and asks again after anything else.
 */
export async function readReadiness(database: Database): Promise<Readiness> {
  try {
    const sql = 'SELECT name FROM d1_migrations WHERE name = ?1 LIMIT 1'
    const row = await database.prepare(sql).bind(neededMigration).first()
    return row ? { state: 'ready', migration: neededMigration } : { state: 'not_migrated', message }
  } catch (error) {
    // A database without a single migration has not even wrangler's table.
    return /no such table/i.test(errorMessage(error))
      ? { state: 'not_migrated', message }
      : { state: 'unreachable' }
  }
}
