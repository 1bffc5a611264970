import { IsolaError } from '#contracts/errors.ts'
import {
  maxDocumentsOfPlace,
  type DocumentInfo,
  type FoundPassage,
  type KnowledgeAnswer,
  type KnowledgeRequest,
  type KnowledgeStore,
  type NewPassage,
} from '#contracts/knowledge.ts'
import type { NotePlace } from '#contracts/long-term.ts'
import { createNoteBook, isIn, toScope, type NoteStoreDeps } from '../long-term/note-book.ts'
import type { IndexedNote } from '../long-term/indexed-note.ts'
import type { NoteStorage } from '../long-term/note-rows.ts'
import { statsOf } from '../long-term/note-stats.ts'
import { createDocumentRows, type DocumentRow } from './document-rows.ts'

type Asked<Verb extends KnowledgeRequest['verb']> = Extract<KnowledgeRequest, { verb: Verb }>

/** A passage as it is sealed; what its document is called and who wrote it is said once, in the document's own row. */
interface PassageBody extends NewPassage {
  readonly document: string
  readonly part: number
  /** What the document is called: its words count for each of its passages. */
  readonly called: string
  readonly updatedAtMs: number
}
type DocumentBody = Omit<DocumentInfo, 'id' | 'scope' | 'agent'>

const maxBytesOfPlace = 8 * 1024 * 1024
/** Of all places of an object together: it loads their words into its memory. */
const mostPlaces = 2

/**
 * The documents of one object: their passages are notes of a book of their own, sealed and found as those are, with a
 * key of their own. A document's id follows from its name, so that the same name is the same document.
 */
export function createKnowledgeStore(
  storage: NoteStorage,
  owner: string,
  deps: NoteStoreDeps,
): KnowledgeStore {
  const book = createNoteBook<PassageBody>(storage, owner, {
    ...deps,
    name: 'knowledge',
    fieldsOf: ({ text, headings = [], called }) => ({
      text,
      speaker: headings.join(' '),
      caption: called,
    }),
  })
  const documents = createDocumentRows(storage)
  const passagesOf = (id: string) =>
    book
      .index()
      .all(isIn(undefined))
      .filter((note) => toId(note.conversation) === id)

  async function put(request: Asked<'put'>): Promise<KnowledgeAnswer> {
    const { place, document, passages, dryRun = false } = request
    const { hash, seal } = await book.key.open()
    const number = hash(`document ${place} ${document.name}`)
    const id = toId(number)
    const row = documents.get(id)
    const there = row && (await open(row))
    const { hash: content, label } = document
    const isSame = there?.hash === content && isSameLabel(there.label, label)
    if (there && isSame) return { state: 'same', documents: [there] }
    const gone = passagesOf(id).map((note) => note.id)
    checkRoom(place, gone, { isNew: !there, passages })
    const nowMs = deps.clock.nowMs()
    const body: DocumentBody = {
      ...document,
      passages: passages.length,
      addedAtMs: there?.addedAtMs ?? nowMs,
      updatedAtMs: nowMs,
    }
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
    const sealed = await seal([place, 'document', id], JSON.stringify(body))
    await book.write(written, gone, () => documents.put({ id, place, sealed }))
    return answer
  }

  /** Refuses what there is no room for, before anything is written. What is replaced makes room. */
  function checkRoom(
    place: NotePlace,
    gone: readonly string[],
    { isNew, passages }: { readonly isNew: boolean; readonly passages: readonly NewPassage[] },
  ): void {
    const own = documents.all().filter((one) => one.place === place).length
    if (isNew && own >= maxDocumentsOfPlace)
      throw full(`there are ${own} documents, and ${maxDocumentsOfPlace} is the most`)
    const going = new Set(gone)
    const notes = book.index().all((one) => one === place)
    // Sealed, and its words beside it: as much again, at most.
    const more = passages.reduce((sum, { text }) => sum + 2 * text.length, 0)
    const bytesOf = (all: readonly IndexedNote[]) =>
      all.reduce((sum, { id, bytes }) => sum + (going.has(id) ? 0 : bytes), more)
    if (bytesOf(notes) > maxBytesOfPlace) throw full(`${mib(maxBytesOfPlace)} is the most`)
    if (bytesOf(book.index().all(isIn(undefined))) > mostPlaces * maxBytesOfPlace)
      throw full(`${mib(mostPlaces * maxBytesOfPlace)} is the most for you and all your agents`)
  }

  async function open({ id, place, sealed }: DocumentRow): Promise<DocumentInfo> {
    const { open: opened } = await book.key.open()
    const text = await opened([place, 'document', id], sealed)
    return { id, ...toScope(place), ...(JSON.parse(text) as DocumentBody) }
  }

  async function search({ places, query, limit }: Asked<'search'>): Promise<KnowledgeAnswer> {
    // Looking for what was never kept makes no key.
    if (!book.rows.key()) return { passages: [] }
    const { hash } = await book.key.open()
    const hashes = [...deps.queryTerms(query).keys()].map(hash)
    const hits = book.index().search(hashes, isIn(places), limit)
    const scores = new Map(hits.map(({ note, score }) => [note.id, score]))
    const found = await book.readAll(hits.map(({ note }) => note))
    const rows = [...new Set(found.map((one) => one.document))].flatMap(
      (id) => documents.get(id) ?? [],
    )
    const known = new Map((await Promise.all(rows.map(open))).map((one) => [one.id, one]))
    return {
      passages: found.flatMap((one): FoundPassage | [] => {
        const document = known.get(one.document)
        return document ? toFound(one, document, scores.get(one.id)!) : []
      }),
    }
  }

  async function list({ places, limit, after = '' }: Asked<'list'>): Promise<KnowledgeAnswer> {
    const all = documents.all().filter(({ id, place }) => id > after && isIn(places)(place))
    const page = all.slice(0, limit)
    const next = all.length > page.length ? { next: page.at(-1)!.id } : {}
    return { documents: await Promise.all(page.map(open)), ...next }
  }

  /** With its passages, in their order. */
  async function get({ id }: Asked<'get'>): Promise<KnowledgeAnswer> {
    const row = documents.get(id)
    if (!row)
      throw new IsolaError('request_not_found', 'There is no such document.', { param: 'id' })
    const document = await open(row)
    const passages = (await book.readAll(passagesOf(id))).toSorted(
      (one, other) => one.part - other.part,
    )
    return { documents: [document], passages: passages.map((one) => toFound(one, document, 0)) }
  }

  function forget({ ids, places }: Asked<'forget'>): KnowledgeAnswer {
    const wanted = ids && new Set(ids)
    const gone = documents
      .all()
      .filter(({ id, place }) => isIn(places)(place) && (wanted?.has(id) ?? true))
    book.remove(gone.flatMap(({ id }) => passagesOf(id).map((note) => note.id)))
    gone.forEach(({ id }) => documents.remove(id))
    if (documents.all().length === 0) {
      // With the last document goes the key: what a copy of the rows still has, nobody can open.
      documents.drop()
      book.rows.drop()
      book.key.forget()
    }
    return { forgotten: gone.length }
  }

  async function answer(request: KnowledgeRequest): Promise<KnowledgeAnswer> {
    switch (request.verb) {
      case 'put':
        return put(request)
      case 'search':
        return search(request)
      case 'list':
        return list(request)
      case 'get':
        return get(request)
      case 'forget':
        return forget(request)
      case 'stats':
        return { stats: statsOf(book) }
      case 'reseal':
        return { key: await book.key.reseal() }
    }
  }

  // One change after the other: between looking for a document and writing it there are waits.
  let changes: Promise<unknown> = Promise.resolve()
  return (request) => {
    if (!['put', 'forget', 'reseal'].includes(request.verb)) return answer(request)
    const next = changes.then(() => answer(request))
    changes = next.catch(() => undefined)
    return next
  }
}

function toFound(
  { text, headings, page, line, part }: PassageBody,
  { id, scope, agent, name, title, label }: DocumentInfo,
  score: number,
): FoundPassage {
  return {
    text,
    ...(headings && { headings }),
    ...(page !== undefined && { page }),
    ...(line !== undefined && { line }),
    document: {
      id,
      scope,
      ...(agent !== undefined && { agent }),
      name,
      ...(title !== undefined && { title }),
    },
    part,
    label,
    score,
  }
}

const toId = (number: number): string => `doc_${number.toString(36)}`

const isSameLabel = (one: DocumentInfo['label'], other: DocumentInfo['label']): boolean =>
  one.integrity === other.integrity && one.confidentiality === other.confidentiality

const mib = (bytes: number) => `${bytes / 1024 / 1024} MiB`
const full = (why: string) =>
  new IsolaError('request_conflict', `There is no room for this document: ${why}. Remove some.`)
