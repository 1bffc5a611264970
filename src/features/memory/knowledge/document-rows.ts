import type { NotePlace } from '#contracts/long-term.ts'
import { tablesMark } from '#contracts/object-tables.ts'
import type { NoteStorage } from '../long-term/note-rows.ts'

/** A stored document: its name is sealed, too. */
export interface DocumentRow {
  readonly id: string
  readonly place: NotePlace
  readonly sealed: Uint8Array<ArrayBuffer>
}

/** The rows of an object's documents; the table is made with the first document. */
export interface DocumentRows {
  readonly get: (id: string) => DocumentRow | undefined
  /** In the order of their ids. */
  readonly all: () => readonly DocumentRow[]
  readonly put: (row: DocumentRow) => void
  readonly remove: (id: string) => void
  readonly drop: () => void
}

/** @param storage Of the object that keeps the documents. */
export function createDocumentRows({ sql }: Pick<NoteStorage, 'sql'>): DocumentRows {
  const exec = (query: string, ...values: (string | Uint8Array)[]) =>
    sql.exec(query, ...values).toArray()
  const read: typeof exec = (query, ...values) =>
    exec(`SELECT 1 FROM sqlite_master WHERE name = 'knowledge_documents'`).length > 0
      ? exec(query, ...values)
      : []
  return {
    get: (id) => read('SELECT * FROM knowledge_documents WHERE id = ?', id).map(toRow)[0],
    all: () => read('SELECT * FROM knowledge_documents ORDER BY id').map(toRow),
    put({ id, place, sealed }) {
      exec(`CREATE TABLE IF NOT EXISTS knowledge_documents (${tablesMark}
        id TEXT PRIMARY KEY, place TEXT NOT NULL, sealed BLOB NOT NULL) STRICT;`)
      exec('INSERT OR REPLACE INTO knowledge_documents VALUES (?, ?, ?)', id, place, sealed)
    },
    remove: (id) => void read('DELETE FROM knowledge_documents WHERE id = ?', id),
    drop: () => void exec('DROP TABLE IF EXISTS knowledge_documents'),
  }
}

const toRow = (row: Readonly<Record<string, unknown>>): DocumentRow => ({
  id: String(row['id']),
  place: String(row['place']) as NotePlace,
  sealed: new Uint8Array(row['sealed'] as ArrayBuffer),
})
