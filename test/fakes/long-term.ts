import { createHmac } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { KnowledgeGateway, KnowledgeStore } from '../../src/features/record/types/knowledge.ts'
import type { ReadDocument } from '../../src/features/memory/types.ts'
import type { LongTermMemory, MemoryGateway } from '../../src/contracts/long-term.ts'
import { createSealing } from '../../src/features/access/secrets/sealing.ts'
import { queryTerms, termsOf } from '../../src/runtime/catalog/search/words.ts'
import { createKnowledgeStore } from '../../src/features/memory/knowledge/knowledge-store.ts'
import { createDocumentReader } from '../../src/features/memory/knowledge/read-document.ts'
import type { NoteStoreDeps } from '../../src/features/memory/long-term/note-book.ts'
import { createNoteStore } from '../../src/features/memory/long-term/note-store.ts'
import type { NoteStorage } from '../../src/features/memory/long-term/note-rows.ts'
import { masterKeyOf, sealingSources } from './secrets.ts'

/** SQLite in memory as a Durable Object has it: blobs come back as buffers. */
export function createNoteStorage(): NoteStorage & { readonly dump: () => string } {
  const sqlite = new DatabaseSync(':memory:')
  return {
    sql: {
      exec(query, ...values) {
        if (values.length === 0 && query.trim().includes(';')) {
          sqlite.exec(query)
          return { toArray: () => [] }
        }
        const given = values.map((value) =>
          value instanceof ArrayBuffer ? new Uint8Array(value) : value,
        )
        const rows = sqlite.prepare(query).all(...given)
        return { toArray: () => rows.map(toRow) }
      },
    },
    transactionSync: (work) => work(),
    /** Every value of every row of every table, bytes as text too. */
    dump: () =>
      sqlite
        .prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`)
        .all()
        .flatMap(({ name }) => sqlite.prepare(`SELECT * FROM ${String(name)}`).all())
        .flatMap(Object.values)
        .map((value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
        )
        .join('\n'),
  }
}

type Row = ReturnType<ReturnType<NoteStorage['sql']['exec']>['toArray']>[number]

const toRow = (row: object): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Uint8Array ? value.slice().buffer : value,
    ]),
  ) as Row

interface NoteStoreOptions {
  readonly storage?: NoteStorage
  readonly owner?: string
  readonly masterKeys?: readonly [current: string, previous?: string]
  readonly nowMs?: () => number
}

/** The notes of one object, over SQLite in memory. */
export const createTestNotes = (options: NoteStoreOptions = {}): LongTermMemory =>
  createTestStore(createNoteStore, options)

/** The documents of one object, in the same way. */
export const createTestDocuments = (options: NoteStoreOptions = {}): KnowledgeStore =>
  createTestStore(createKnowledgeStore, options)

function createTestStore<T>(
  create: (storage: NoteStorage, owner: string, deps: NoteStoreDeps) => T,
  {
    storage = createNoteStorage(),
    owner = 'object',
    masterKeys = [masterKeyOf(1)],
    nowMs = () => 0,
  }: NoteStoreOptions,
): T {
  let count = 0
  const [current, previous] = masterKeys
  return create(storage, owner, {
    termsOf,
    queryTerms,
    sealing: createSealing({ current, previous }, sealingSources),
    randomBytes: sealingSources.randomBytes,
    keyedHash: (key, text) => createHmac('sha256', key).update(text).digest(),
    clock: { nowMs, sleep: async () => {} },
    ids: { next: (prefix) => `${prefix}_${(count += 1)}` },
  })
}

/** Objects in memory, made when they are first asked. */
export const createFakeLongTerm = (): MemoryGateway => createFakeGateway(createTestNotes)

/** Reads documents without a wait between slices. */
export const readDocument = createDocumentReader(async () => {})

/** The same of documents, with the way to read one. */
export const createFakeKnowledge = (): KnowledgeGateway & { readonly read: ReadDocument } => ({
  ...createFakeGateway(createTestDocuments),
  read: readDocument,
})

function createFakeGateway<T>(create: (options: NoteStoreOptions) => T) {
  const objects = new Map<string, T>()
  const at = (owner: string): T => {
    const object = objects.get(owner) ?? create({ owner })
    objects.set(owner, object)
    return object
  }
  return {
    ofPrincipal: (principal: string) => at(`of ${principal}`),
    ofDeployment: () => at('deployment'),
  }
}
