import type { CredentialState, EndedCredential } from '#runtime/session/types/principal.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { PrincipalStorage } from './principal-rows.ts'

/** A credential (a key or a sign-in) that sessions work with, or did a moment ago. */
export interface CredentialRow {
  readonly id: string
  /** False until the database was asked about this credential. */
  readonly isChecked: boolean
  readonly endsAtMs?: number
  readonly ended?: EndedCredential['reason']
}

interface HolderRow {
  readonly session: string
  readonly upTo: number
}

/** How many sessions are asked at once: each question wakes a session. */
const maxAsked = 256

const tables = `
  CREATE TABLE IF NOT EXISTS credentials (${tablesMark}
    id TEXT PRIMARY KEY, checked INTEGER NOT NULL DEFAULT 0, ends_at_ms INTEGER, ended TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holders (${tablesMark}
    credential TEXT NOT NULL, session TEXT NOT NULL, up_to INTEGER NOT NULL, ask_at_ms INTEGER NOT NULL,
    PRIMARY KEY (credential, session)
  ) STRICT, WITHOUT ROWID;`

/** Which sessions work with which credentials. Synchronous; the tables are made with the first row. */
export type HeldRows = ReturnType<typeof createHeldRows>

/** The tables of credentials and the sessions that hold them. */
export function createHeldRows({ sql }: PrincipalStorage) {
  let isMade = false
  const exec = (query: string, ...values: (string | number)[]) =>
    sql.exec(query, ...values).toArray()
  const exists = () =>
    (isMade ||= exec(`SELECT 1 FROM sqlite_master WHERE name = 'holders'`).length > 0)
  const read: typeof exec = (...query) => (exists() ? exec(...query) : [])

  return {
    /** @param askAtMs When to ask the session whether it still works with the credential. Ignored for a known row. */
    hold(credential: string, { session, upTo }: HolderRow, askAtMs: number): void {
      if (!exists()) exec(tables)
      isMade = true
      exec('INSERT OR IGNORE INTO credentials (id) VALUES (?)', credential)
      exec(
        `INSERT INTO holders (credential, session, up_to, ask_at_ms) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO UPDATE SET up_to = ?3 WHERE up_to < ?3`,
        credential,
        session,
        upTo,
        askAtMs,
      )
    },
    /** Removes the row unless a later run has taken it (`upTo` is higher). */
    release(credential: string, { session, upTo }: HolderRow): void {
      const those = 'credential = ? AND session = ? AND up_to <= ?'
      read(`DELETE FROM holders WHERE ${those}`, credential, session, upTo)
    },
    holders: (credential: string) =>
      read(
        'SELECT session, up_to FROM holders WHERE credential = ? ORDER BY session',
        credential,
      ).map(toHolder),
    /** Rows whose session is to be asked now, and rows whose time lies beyond `latestMs`: a clock was set back. */
    toAsk(nowMs: number, latestMs: number) {
      const due = 'ask_at_ms <= ?1 OR ask_at_ms > ?2'
      return read(
        `SELECT * FROM holders WHERE ${due} ORDER BY ask_at_ms LIMIT ${maxAsked}`,
        nowMs,
        latestMs,
      ).map((row) => ({ credential: String(row['credential']), ...toHolder(row) }))
    },
    askLater(credential: string, session: string, askAtMs: number): void {
      const those = 'credential = ?2 AND session = ?3'
      read(`UPDATE holders SET ask_at_ms = ?1 WHERE ${those}`, askAtMs, credential, session)
    },
    credential: (id: string) =>
      read('SELECT * FROM credentials WHERE id = ?', id).map(toCredential)[0],
    credentials: () => read('SELECT * FROM credentials ORDER BY id').map(toCredential),
    /** An end is final: an older answer of the database does not undo it. */
    note(id: string, state: CredentialState): void {
      const sql = 'UPDATE credentials SET checked = 1, '
      if (state.state === 'ended')
        read(`${sql} ended = coalesce(ended, ?2) WHERE id = ?1`, id, state.reason)
      // 0 stands for an end that is not set, since a value of ours is never NULL.
      else read(`${sql} ends_at_ms = nullif(?2, 0) WHERE id = ?1`, id, state.endsAtMs ?? 0)
    },
    /** Forgets credentials without a session; the database is asked again at the next `hold`. */
    prune: () =>
      void read('DELETE FROM credentials WHERE id NOT IN (SELECT credential FROM holders)'),
  }
}

const toHolder = (row: Readonly<Record<string, unknown>>): HolderRow => ({
  session: String(row['session']),
  upTo: Number(row['up_to']),
})

const toCredential = (row: Readonly<Record<string, unknown>>): CredentialRow => {
  const { id, checked, ends_at_ms: endsAtMs, ended } = row
  return {
    id: String(id),
    isChecked: checked === 1,
    ...(endsAtMs !== null && { endsAtMs: Number(endsAtMs) }),
    ...((ended === 'revoked' || ended === 'expired') && { ended }),
  }
}
