import type { CredentialState, EndedCredential } from '#contracts/held-work.ts'
import type { PrincipalStorage } from './principal-rows.ts'

/** A key or a sign-in with which somebody works, or did a moment ago. */
export interface CredentialRow {
  readonly id: string
  /** False until the database was asked about it. */
  readonly isChecked: boolean
  readonly endsAtMs?: number
  readonly ended?: EndedCredential['reason']
}

export interface HolderRow {
  readonly session: string
  readonly upTo: number
}

/** Which sessions work with which keys and sign-ins. Synchronous; a table is made with the first row. */
export interface HeldRows {
  readonly hold: (credential: string, holder: HolderRow) => void
  /** What was held since for a later run stays. */
  readonly release: (credential: string, holder: HolderRow) => void
  readonly holders: (credential: string) => readonly HolderRow[]
  readonly credential: (id: string) => CredentialRow | undefined
  readonly credentials: () => readonly CredentialRow[]
  /** What has ended has ended for good: an answer of the database that is older changes nothing. */
  readonly note: (id: string, state: CredentialState) => void
  /** Forgets what nobody works with: the database is asked again with the next one. */
  readonly prune: () => void
}

const tables = `
  CREATE TABLE IF NOT EXISTS credentials (
    id TEXT PRIMARY KEY, checked INTEGER NOT NULL DEFAULT 0, ends_at_ms INTEGER, ended TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holders (
    credential TEXT NOT NULL, session TEXT NOT NULL, up_to INTEGER NOT NULL, PRIMARY KEY (credential, session)
  ) STRICT, WITHOUT ROWID;`

export function createHeldRows({ sql }: Pick<PrincipalStorage, 'sql'>): HeldRows {
  let isMade = false
  const exec = (query: string, ...values: (string | number)[]) =>
    sql.exec(query, ...values).toArray()
  const exists = () =>
    (isMade ||= exec(`SELECT 1 FROM sqlite_master WHERE name = 'holders'`).length > 0)
  const read: typeof exec = (...query) => (exists() ? exec(...query) : [])

  return {
    hold(credential, { session, upTo }) {
      if (!exists()) exec(tables)
      isMade = true
      exec('INSERT OR IGNORE INTO credentials (id) VALUES (?)', credential)
      exec(
        `INSERT INTO holders (credential, session, up_to) VALUES (?1, ?2, ?3)
        ON CONFLICT DO UPDATE SET up_to = ?3 WHERE up_to < ?3`,
        credential,
        session,
        upTo,
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
      ).map((row) => ({ session: String(row['session']), upTo: Number(row['up_to']) })),
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

const toCredential = (row: Readonly<Record<string, unknown>>): CredentialRow => {
  const { id, checked, ends_at_ms: endsAtMs, ended } = row
  return {
    id: String(id),
    isChecked: checked === 1,
    ...(endsAtMs !== null && { endsAtMs: Number(endsAtMs) }),
    ...((ended === 'revoked' || ended === 'expired') && { ended }),
  }
}
