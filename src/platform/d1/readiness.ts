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

/** The part of KV that this module uses. */
interface NoteStore {
  get(key: string): Promise<string | null>
  put(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
}

export interface KnownReadinessDeps {
  readonly database: Database
  readonly notes: NoteStore
  /** Lets the question go on after the answer of the request that asked it. */
  readonly keepAlive: ((work: Promise<unknown>) => void) | undefined
  /**
   * Brings the database up to date behind the answer, once it is known to be ready. Never rejects.
   *
   * @param noted What an earlier call answered, in whichever isolate.
   */
  readonly onReady: (noted: string | undefined) => Promise<string | undefined>
}

const noteKey = `ready:${neededMigration}`
const ready: Readiness = { state: 'ready', migration: neededMigration }

/**
 * Readiness for requests: known from a note in KV before the database answers, so that an isolate's first request need
 * not wait for that. The database is asked by each isolate all the same, until it said `ready` once. After any other
 * answer the note is removed and each request waits for the database's own.
 */
export function createKnownReadiness({
  database,
  notes,
  keepAlive = () => {},
  onReady,
}: KnownReadinessDeps): () => Promise<Readiness> {
  /** `noted`: by KV alone; `said`: by the database; `doubted`: the database denied it. */
  let known: 'noted' | 'said' | 'doubted' | undefined
  let isAsking = false

  const note = async (noted: string | undefined): Promise<void> => {
    const now = (await onReady(noted)) ?? noted ?? ''
    if (now !== noted) await notes.put(noteKey, now)
  }
  const ask = async (noted: Promise<string | undefined>): Promise<Readiness> => {
    const answer = await readReadiness(database)
    if (answer.state === 'ready' && known !== 'said') {
      known = 'said'
      const before = await noted
      const noting = note(before).catch(() => {})
      keepAlive(noting)
      // A deployment's first request, which may name a plugin of the table that is made now.
      if (before === undefined) await noting
    }
    if (answer.state === 'not_migrated') {
      if (known !== 'doubted') keepAlive(notes.delete(noteKey).catch(() => {}))
      known = 'doubted'
    }
    return answer
  }
  const readNote = async () => (await notes.get(noteKey).catch(() => null)) ?? undefined
  return async () => {
    if (known === 'said') return ready
    if (known === 'noted') {
      if (!isAsking) {
        isAsking = true
        keepAlive(ask(readNote()).finally(() => (isAsking = false)))
      }
      return ready
    }
    const noted = readNote()
    const asked = ask(noted)
    if (known === 'doubted') return asked
    isAsking = true
    keepAlive(asked.finally(() => (isAsking = false)))
    const first = await Promise.race([asked, noted])
    if (typeof first === 'object') return first
    if (first === undefined) return asked
    known ??= 'noted'
    return ready
  }
}
