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

export interface HolderRow {
  readonly session: string
  readonly upTo: number
}

/** Which sessions work with which credentials. Synchronous; the tables are made with the first row. */
export interface HeldRows {
  /** @param askAtMs When to ask the session whether it still works with the credential. Ignored for a known row. */
  readonly hold: (credential: string, holder: HolderRow, askAtMs: number) => void
  /** Removes the row unless a later run has taken it (`upTo` is higher). */
  readonly release: (credential: string, holder: HolderRow) => void
  readonly holders: (credential: string) => readonly HolderRow[]
  /** Rows whose session is to be asked now, and rows whose time lies beyond `latestMs`: a clock was set back. */
  readonly toAsk: (
    nowMs: number,
    latestMs: number,
  ) => readonly (HolderRow & { readonly credential: string })[]
  readonly askLater: (credential: string, session: string, askAtMs: number) => void
  readonly credential: (id: string) => CredentialRow | undefined
  readonly credentials: () => readonly CredentialRow[]
  /** An end is final: an older answer of the database does not undo it. */
  readonly note: (id: string, state: CredentialState) => void
  /** Forgets credentials without a session; the database is asked again at the next `hold`. */
  readonly prune: () => void
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

export function createHeldRows({ sql }: Pick<PrincipalStorage, 'sql'>): HeldRows {
  let isMade = false
  const exec = (query: string, ...values: (string | number)[]) =>
    sql.exec(query, ...values).toArray()
  const exists = () =>
    (isMade ||= exec(`SELECT 1 FROM sqlite_master WHERE name = 'holders'`).length > 0)
  const read: typeof exec = (...query) => (exists() ? exec(...query) : [])

  return {
    hold(credential, { session, upTo }, askAtMs) {
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
    release(credential, { session, upTo }) {
      const those = 'credential = ? AND session = ? AND up_to <= ?'
      read(`DELETE FROM holders WHERE ${those}`, credential, session, upTo)
    },
    holders: (credential) =>
      read(
        'SELECT session, up_to FROM holders WHERE credential = ? ORDER BY session',
        credential,
      ).map(toHolder),
    toAsk(nowMs, latestMs) {
      const due = 'ask_at_ms <= ?1 OR ask_at_ms > ?2'
      return read(
        `SELECT * FROM holders WHERE ${due} ORDER BY ask_at_ms LIMIT ${maxAsked}`,
        nowMs,
        latestMs,
      ).map((row) => ({ credential: String(row['credential']), ...toHolder(row) }))
    },
    askLater(credential, session, askAtMs) {
      const those = 'credential = ?2 AND session = ?3'
      read(`UPDATE holders SET ask_at_ms = ?1 WHERE ${those}`, askAtMs, credential, session)
    },
    credential: (id) => read('SELECT * FROM credentials WHERE id = ?', id).map(toCredential)[0],
    credentials: () => read('SELECT * FROM credentials ORDER BY id').map(toCredential),
    note(id, state) {
      if (state.state === 'ended')
        read(
          'UPDATE credentials SET checked = 1, ended = coalesce(ended, ?2) WHERE id = ?1',
          id,
          state.reason,
        )
      else if (state.endsAtMs === undefined)
        read('UPDATE credentials SET checked = 1, ends_at_ms = NULL WHERE id = ?1', id)
      else
        read(
          'UPDATE credentials SET checked = 1, ends_at_ms = ?2 WHERE id = ?1',
          id,
          state.endsAtMs,
        )
    },
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
