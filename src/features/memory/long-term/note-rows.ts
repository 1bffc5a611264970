import type { NotePlace } from '#contracts/long-term.ts'
import type { SealedSecret } from '#features/access/types/secrets.ts'
import { tablesMark } from '#contracts/objects.ts'
import { type IndexedNote, packWords, unpackWords } from './note-words.ts'

type Value = string | number | ArrayBuffer | null
type Row = Readonly<Record<string, Value>>

/** The part of a Durable Object's storage that this uses, so that a test can stand SQLite in for it. */
export interface NoteStorage {
  readonly sql: {
    exec(
      query: string,
      ...values: (string | number | ArrayBuffer | Uint8Array)[]
    ): {
      toArray(): Row[]
    }
  }
  transactionSync<T>(work: () => T): T
}

/** A stored note: its readable part is sealed. */
interface NoteRow extends Omit<IndexedNote, 'row' | 'bytes'> {
  readonly sealed: Uint8Array
  /** The sessions it came from, so that forgetting a session finds it. */
  readonly sessions: readonly string[]
}

/** The rows of an object's notes. Nothing is made before there is something to keep; every method is synchronous. */
export interface NoteRows {
  readonly all: () => readonly IndexedNote[]
  readonly sealed: (id: string) => Uint8Array<ArrayBuffer> | undefined
  /** Inserts or replaces, and answers it as the index has it. */
  readonly put: (note: NoteRow) => IndexedNote
  readonly remove: (ids: readonly string[]) => void
  readonly ofSession: (session: string) => readonly string[]
  readonly key: () => Pick<SealedSecret, 'sealed' | 'keyId'> | undefined
  readonly saveKey: (key: Pick<SealedSecret, 'sealed' | 'keyId'>) => void
  /** How often this run wrote; counts of runs that wrote long ago are deleted. */
  readonly writes: (run: string) => number
  readonly noteWrites: (run: string, writes: number, nowMs: number) => void
  /** Notes and key. */
  readonly drop: () => void
}

const keepWritesMs = 30 * 86_400_000

const tablesOf = (name: string) => `
  CREATE TABLE IF NOT EXISTS ${name}_notes (${tablesMark}
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, place TEXT NOT NULL, conversation INTEGER NOT NULL,
    at INTEGER NOT NULL, bytes INTEGER NOT NULL, words BLOB NOT NULL, sessions TEXT NOT NULL, sealed BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS ${name}_key (${tablesMark}
    one INTEGER PRIMARY KEY CHECK (one = 1), sealed TEXT NOT NULL, key_id TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS ${name}_writes (${tablesMark}
    run TEXT PRIMARY KEY, writes INTEGER NOT NULL, at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`

/**
 * @param storage Of the object that keeps the notes.
 * @param name What its tables begin with.
 */
export function createNoteRows(
  { sql }: Pick<NoteStorage, 'sql'>,
  name: 'memory' | 'knowledge' = 'memory',
): NoteRows {
  let isReady = false
  const exec = (query: string, ...values: Parameters<NoteStorage['sql']['exec']>[1][]) =>
    sql.exec(query, ...values).toArray()
  const exists = () =>
    (isReady ||= exec(`SELECT 1 FROM sqlite_master WHERE name = '${name}_notes'`).length > 0)
  const read: typeof exec = (query, ...values) => (exists() ? exec(query, ...values) : [])
  const write: typeof exec = (query, ...values) => {
    if (!exists()) exec(tablesOf(name))
    return exec(query, ...values)
  }
  const indexed = 'row, id, place, conversation, at, bytes, words'
  return {
    all: () => read(`SELECT ${indexed} FROM ${name}_notes ORDER BY row`).map(toIndexed),
    sealed(id) {
      const [row] = read(`SELECT sealed FROM ${name}_notes WHERE id = ?`, id)
      return row && new Uint8Array(row['sealed'] as ArrayBuffer)
    },
    put({ id, place, conversation, words, updatedAtMs, sealed, sessions }) {
      const packed = packWords(words)
      const [row] = write(
        `INSERT INTO ${name}_notes (id, place, conversation, at, bytes, words, sessions, sealed)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
          ON CONFLICT (id) DO UPDATE SET at = ?4, bytes = ?5, words = ?6, sessions = ?7, sealed = ?8
          RETURNING ${indexed}`,
        id,
        place,
        conversation,
        updatedAtMs,
        packed.byteLength + sealed.byteLength,
        packed,
        sessions.map((session) => ` ${session} `).join(''),
        sealed,
      )
      return toIndexed(row!)
    },
    remove(ids) {
      for (const id of ids) write(`DELETE FROM ${name}_notes WHERE id = ?`, id)
    },
    ofSession: (session) =>
      read(`SELECT id FROM ${name}_notes WHERE instr(sessions, ?) > 0`, ` ${session} `).map((row) =>
        String(row['id']),
      ),
    key() {
      const [row] = read(`SELECT sealed, key_id FROM ${name}_key`)
      return row && { sealed: String(row['sealed']), keyId: String(row['key_id']) }
    },
    saveKey({ sealed, keyId }) {
      write(`INSERT OR REPLACE INTO ${name}_key VALUES (1, ?, ?)`, sealed, keyId)
    },
    writes(run) {
      const [row] = read(`SELECT writes FROM ${name}_writes WHERE run = ?`, run)
      return Number(row?.['writes'] ?? 0)
    },
    noteWrites(run, writes, nowMs) {
      write(`INSERT OR REPLACE INTO ${name}_writes VALUES (?, ?, ?)`, run, writes, nowMs)
      write(`DELETE FROM ${name}_writes WHERE at < ?`, nowMs - keepWritesMs)
    },
    drop() {
      exec(`DROP TABLE IF EXISTS ${name}_notes`)
      exec(`DROP TABLE IF EXISTS ${name}_key`)
      isReady = false
    },
  }
}

const toIndexed = (row: Row): IndexedNote => ({
  row: Number(row['row']),
  id: String(row['id']),
  place: String(row['place']) as NotePlace,
  conversation: Number(row['conversation']),
  words: unpackWords(row['words'] as ArrayBuffer),
  bytes: Number(row['bytes']),
  updatedAtMs: Number(row['at']),
})
