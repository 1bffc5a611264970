import type { NotePlace } from '#contracts/long-term.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { NoteStorage } from '../long-term/note-rows.ts'
import type { DocumentInfo, NewPassage } from '#features/record/types/knowledge.ts'
import type { IndexedNote } from '../long-term/note-words.ts'
import {
  createNoteBook,
  isIn,
  toScope,
  type NoteBook,
  type NoteStoreDeps,
} from '../long-term/note-book.ts'

/** A stored document: its name is sealed, too. */
interface DocumentRow {
  readonly id: string
  readonly place: NotePlace
  readonly sealed: Uint8Array<ArrayBuffer>
}

/** The rows of an object's documents; the table is made with the first document. */
interface DocumentRows {
  readonly get: (id: string) => DocumentRow | undefined
  /** In the order of their ids. */
  readonly all: () => readonly DocumentRow[]
  readonly put: (row: DocumentRow) => void
  readonly remove: (id: string) => void
  readonly drop: () => void
}

/** @param storage Of the object that keeps the documents. */
function createDocumentRows({ sql }: Pick<NoteStorage, 'sql'>): DocumentRows {
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

/** The sealed part of a passage; the document's own row has its name and author. */
export interface PassageBody extends NewPassage {
  readonly document: string
  readonly part: number
  /** The document's name and title: their words count for each of its passages. */
  readonly called: string
  readonly updatedAtMs: number
}

/** The sealed part of a document. */
export interface DocumentBody extends Omit<DocumentInfo, 'id' | 'scope' | 'agent'> {
  /** The principal that put it; shown to no caller. */
  readonly by?: string
}

/** Documents as they are kept, with their passages. */
export interface DocumentBook {
  readonly book: NoteBook<PassageBody>
  readonly rows: DocumentRows
  /** The passages of these documents, by one scan. */
  readonly passagesOf: (ids: readonly string[]) => readonly IndexedNote[]
  readonly open: (row: DocumentRow) => Promise<DocumentInfo>
  readonly writerOf: (row: DocumentRow) => Promise<string | undefined>
  readonly seal: (at: Pick<DocumentRow, 'id' | 'place'>, body: DocumentBody) => Promise<DocumentRow>
  /** The number of a name in its place: the same name is the same document. */
  readonly numberOf: (place: NotePlace, name: string) => Promise<number>
  readonly drop: () => void
}

/** The id says nothing of the name: it is a keyed hash. */
export const toId = (number: number): string => `doc_${number.toString(36)}`

/** Passages are notes of a book of their own, under tables and a key of their own; a document is their conversation. */
export function createDocumentBook(
  storage: NoteStorage,
  owner: string,
  deps: NoteStoreDeps,
): DocumentBook {
  const book = createNoteBook<PassageBody>(storage, owner, {
    ...deps,
    name: 'knowledge',
    fieldsOf: ({ text, headings = [], called }) => ({
      text,
      speaker: headings.join(' '),
      caption: called,
    }),
  })
  const rows = createDocumentRows(storage)
  const bodyOf = async ({ id, place, sealed }: DocumentRow) => {
    const text = await (await book.key.open()).open([place, 'document', id], sealed)
    return JSON.parse(text) as DocumentBody
  }
  return {
    book,
    rows,
    passagesOf(ids) {
      const wanted = new Set(ids)
      return book
        .index()
        .all(isIn(undefined))
        .filter((note) => wanted.has(toId(note.conversation)))
    },
    async open(row) {
      const { by: _by, ...told } = await bodyOf(row)
      return { id: row.id, ...toScope(row.place), ...told }
    },
    writerOf: async (row) => (await bodyOf(row)).by,
    async seal({ id, place }, body) {
      const { seal } = await book.key.open()
      return { id, place, sealed: await seal([place, 'document', id], JSON.stringify(body)) }
    },
    async numberOf(place, name) {
      return (await book.key.open()).hash(`document ${place} ${name}`)
    },
    drop() {
      // The key goes with the last document: a copy of the rows can then be opened by no key.
      rows.drop()
      book.rows.drop()
      book.key.forget()
    },
  }
}
