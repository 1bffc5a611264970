import { IsolaError } from '#contracts/errors.ts'
import { maxDocumentsOfPlace } from '../types.ts'
import type {
  DocumentInfo,
  KnowledgeAnswer,
  KnowledgeRequest,
  NewPassage,
  FoundPassage,
  KnowledgeStore,
} from '#features/record/types/knowledge.ts'
import type { NotePlace } from '#contracts/long-term.ts'
import type { IndexedNote } from '../long-term/note-words.ts'
import {
  isIn,
  toScope,
  type NoteStoreDeps,
  oneChangeAtATime,
  statsOf,
} from '../long-term/note-book.ts'
import {
  toId,
  type DocumentBody,
  type DocumentBook,
  createDocumentBook,
  type PassageBody,
} from './document-book.ts'
import { defined } from '#contracts/defined.ts'
import type { NoteStorage } from '../long-term/note-rows.ts'

const maxBytesOfPlace = 8 * 1024 * 1024
/** The most of all places of an object together, in limits of one place: their words are loaded into memory. */
const mostPlaces = 2

/** Puts a document in the place of the one of its name, all or nothing; the same again changes nothing. */
async function putDocument(
  {
    place,
    document,
    passages,
    by,
    dryRun = false,
  }: Extract<KnowledgeRequest, { readonly verb: 'put' }>,
  documents: DocumentBook,
  deps: Pick<NoteStoreDeps, 'clock' | 'ids'>,
): Promise<KnowledgeAnswer> {
  const { book, rows } = documents
  // The id comes of the key, and the key is made with the first document: before that a dry run knows of none.
  const isNameless = dryRun && !book.rows.key()
  const number = isNameless ? 0 : await documents.numberOf(place, document.name)
  const id = toId(number)
  const row = rows.get(id)
  const there = row && (await documents.open(row))
  if (there && isSame(there, document)) return { state: 'same', documents: [there] }
  const gone = documents.passagesOf([id]).map((note) => note.id)
  checkRoom(documents, { place, gone, isNew: !there, passages })
  const nowMs = deps.clock.nowMs()
  const body: DocumentBody = {
    ...document,
    passages: passages.length,
    addedAtMs: there?.addedAtMs ?? nowMs,
    updatedAtMs: nowMs,
  }
  const writer = by === undefined ? {} : { by }
  const answer = {
    state: there ? 'changed' : 'added',
    documents: [{ id, ...toScope(place), ...body }],
  } as const
  if (dryRun) return answer
  const called = [document.title, document.name].filter(Boolean).join(' ')
  const written = passages.map((passage, at) => ({
    id: deps.ids.next('pas'),
    place,
    conversation: number,
    sessions: [],
    body: { ...passage, document: id, part: at + 1, called, updatedAtMs: nowMs },
  }))
  const sealed = await documents.seal({ id, place }, { ...body, ...writer })
  await book.write(written, gone, () => rows.put(sealed))
  return answer
}

type Compared = Pick<DocumentInfo, 'hash' | 'label'>

const isSame = (one: Compared, other: Compared): boolean =>
  one.hash === other.hash &&
  one.label.integrity === other.label.integrity &&
  one.label.confidentiality === other.label.confidentiality

/** Refuses a document that does not fit, before anything is written. A document that it replaces makes room. */
function checkRoom(
  { book, rows }: DocumentBook,
  {
    place,
    gone,
    isNew,
    passages,
  }: {
    readonly place: NotePlace
    readonly gone: readonly string[]
    readonly isNew: boolean
    readonly passages: readonly NewPassage[]
  },
): void {
  const own = rows.all().filter((one) => one.place === place).length
  if (isNew && own >= maxDocumentsOfPlace)
    throw full(`there are ${own} documents, and ${maxDocumentsOfPlace} is the most`)
  const going = new Set(gone)
  // Sealed, and its words beside it: as much again, at most.
  const encoder = new TextEncoder()
  const more = passages.reduce((sum, { text }) => sum + 2 * encoder.encode(text).length, 0)
  const bytesOf = (all: readonly IndexedNote[]) =>
    all.reduce((sum, { id, bytes }) => sum + (going.has(id) ? 0 : bytes), more)
  if (bytesOf(book.index().all(isIn([place]))) > maxBytesOfPlace)
    throw full(`${mib(maxBytesOfPlace)} is the most`)
  if (bytesOf(book.index().all(isIn(undefined))) > mostPlaces * maxBytesOfPlace)
    throw full(`${mib(mostPlaces * maxBytesOfPlace)} is the most for you and all your agents`)
}

const mib = (bytes: number) => `${bytes / 1024 / 1024} MiB`
const full = (why: string) =>
  new IsolaError('request_conflict', `There is no room for this document: ${why}. Remove some.`)

type Asked<Verb extends KnowledgeRequest['verb']> = Extract<KnowledgeRequest, { verb: Verb }>

/** The documents of one object, sealed and found as its notes are. */
export function createKnowledgeStore(
  storage: NoteStorage,
  owner: string,
  deps: NoteStoreDeps,
): KnowledgeStore {
  const documents = createDocumentBook(storage, owner, deps)
  const { book, rows, open, passagesOf } = documents

  async function search({ places, query, limit }: Asked<'search'>): Promise<KnowledgeAnswer> {
    const found = await book.search(query, places, limit)
    const ids = [...new Set(found.map((one) => one.document))]
    const kept = ids.flatMap((id) => rows.get(id) ?? [])
    const known = new Map((await Promise.all(kept.map(open))).map((one) => [one.id, one]))
    return {
      passages: found.flatMap((one): FoundPassage | [] => {
        const document = known.get(one.document)
        return document ? toFound(one, document, one.score) : []
      }),
    }
  }

  async function list({ places, limit, after = '' }: Asked<'list'>): Promise<KnowledgeAnswer> {
    const all = rows.all().filter(({ id, place }) => id > after && isIn(places)(place))
    const page = all.slice(0, limit)
    const next = all.length > page.length ? { next: page.at(-1)!.id } : {}
    return { documents: await Promise.all(page.map(open)), ...next }
  }

  /** With its passages, in their order. */
  async function get({ id }: Asked<'get'>): Promise<KnowledgeAnswer> {
    const row = rows.get(id)
    if (!row)
      throw new IsolaError('request_not_found', 'There is no such document.', { param: 'id' })
    const document = await open(row)
    const passages = (await book.readAll(passagesOf([id]))).toSorted(
      (one, other) => one.part - other.part,
    )
    return { documents: [document], passages: passages.map((one) => toFound(one, document, 0)) }
  }

  function forget({ ids, places }: Asked<'forget'>): KnowledgeAnswer {
    const wanted = ids && new Set(ids)
    const isGone = isIn(places)
    const gone = rows.all().filter(({ id, place }) => isGone(place) && (wanted?.has(id) ?? true))
    book.remove(passagesOf(gone.map(({ id }) => id)).map((note) => note.id))
    gone.forEach(({ id }) => rows.remove(id))
    if (rows.all().length === 0) documents.drop()
    return { forgotten: gone.length }
  }

  async function forgetWriter({ principal }: Asked<'forgetWriter'>): Promise<KnowledgeAnswer> {
    const all = rows.all()
    const writers = await Promise.all(all.map(documents.writerOf))
    const ids = all.flatMap(({ id }, at) => (writers[at] === principal ? id : []))
    return ids.length === 0 ? { forgotten: 0 } : forget({ verb: 'forget', ids })
  }

  async function answer(request: KnowledgeRequest): Promise<KnowledgeAnswer> {
    switch (request.verb) {
      case 'put':
        return putDocument(request, documents, deps)
      case 'search':
        return search(request)
      case 'list':
        return list(request)
      case 'get':
        return get(request)
      case 'forget':
        return forget(request)
      case 'forgetWriter':
        return forgetWriter(request)
      case 'stats':
        return { stats: statsOf(book) }
      case 'reseal':
        return { key: await book.key.reseal() }
    }
  }

  return oneChangeAtATime(answer, ['put', 'forget', 'forgetWriter', 'reseal'])
}

function toFound(
  { text, headings, page, line, part }: PassageBody,
  { id, scope, agent, name, title, label }: DocumentInfo,
  score: number,
): FoundPassage {
  const named = defined({ agent, title })
  return {
    text,
    ...defined({ headings, page, line }),
    document: { id, scope, name, ...named },
    part,
    label,
    score,
  }
}
