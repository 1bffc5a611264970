import { errorMessage } from '#contracts/errors.ts'
import type { DatabaseState } from './types.ts'
import type { Readiness } from '#contracts/operations.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Database } from './database.ts'

/** The newest file of `migrations/` that this version needs; a test holds the two together. */
export const neededMigration = '0001_isola.sql'
/** The first of `migrations/`. A database that began with another was made by a build before the first release. */
const firstMigration = '0001_isola.sql'

const ofOlderBuild =
  'The database (DB) was made by a build before the first release of Isola, is not read and was not changed: ' +
  'give this ' +
  'version a database of its own (docs/upgrading.md).'
const message =
  'The database has no tables for this version. Locally run `npm start`, which makes them; for a deployment run ' +
  '`npx wrangler d1 migrations apply DB --remote`.'

/**
 * Whether the database answers at all, asked anew each time; an answer that takes longer than `timeoutMs` counts as
 * none.
 */
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
 * Looks up in the table that wrangler keeps whether the newest migration was applied. Never throws; the caller keeps a
 * `ready` and asks again after anything else.
 */
export async function readReadiness(database: Database): Promise<Readiness> {
  try {
    const sql = 'SELECT max(name = ?1) AS isReady, max(name = ?2) AS isOurs FROM d1_migrations'
    const row = await database.prepare(sql).bind(neededMigration, firstMigration).first<Applied>()
    if (row?.isReady) return { state: 'ready', migration: neededMigration }
    return { state: 'not_migrated', message: row?.isOurs === 0 ? ofOlderBuild : message }
  } catch (error) {
    // A database without a single migration has not even wrangler's table.
    return /no such table/i.test(errorMessage(error))
      ? { state: 'not_migrated', message }
      : { state: 'unreachable' }
  }
}

/** Both are null where nothing was applied. */
interface Applied {
  readonly isReady: number | null
  readonly isOurs: number | null
}
