import { joinLabels } from '#contracts/label.ts'
import type { LongTermMemory, MemoryAnswer, MemoryRequest } from '#contracts/long-term.ts'
import { addNotes, toWritten, checkNote } from './add-notes.ts'
import {
  createNoteBook,
  isIn,
  oneChangeAtATime,
  statsOf,
  type NoteBody,
  type NoteBook,
  type NoteStoreDeps,
} from './note-book.ts'
import type { NoteStorage } from './note-rows.ts'

const changing: readonly MemoryRequest['verb'][] = [
  'add',
  'edit',
  'forget',
  'forgetWriter',
  'reseal',
]

type Asked<Verb extends MemoryRequest['verb']> = Extract<MemoryRequest, { verb: Verb }>

/** The notes of one object, sealed under a key of its own; searches use keyed hashes of their words. */
export function createNoteStore(
  storage: NoteStorage,
  owner: string,
  deps: NoteStoreDeps,
): LongTermMemory {
  const book = createNoteBook<NoteBody>(storage, owner, {
    ...deps,
    name: 'memory',
    fieldsOf: (body) => body,
  })

  async function answer(request: MemoryRequest): Promise<MemoryAnswer> {
    switch (request.verb) {
      case 'add':
        return addNotes(request, book, deps)
      case 'search':
        return { notes: await book.search(request.query, request.places, request.limit) }
      case 'list':
        return list(request)
      case 'get':
        return { notes: await book.readAll([book.known(request.id, request.places)]) }
      case 'edit':
        return edit(request)
      case 'forget':
        return forget(request, book)
      case 'forgetWriter':
        return forgetWriter(request)
      case 'stats':
        return { stats: statsOf(book) }
      case 'reseal':
        return { key: await book.key.reseal() }
    }
  }

  /** Newest first, by when it was written first: a page after another sees no note twice. */
  async function list({ places, limit, after }: Asked<'list'>): Promise<MemoryAnswer> {
    const before = after === undefined ? Infinity : Number(after)
    const all = book
      .index()
      .all(isIn(places))
      .filter(({ row }) => row < before)
    const page = all.toSorted((one, other) => other.row - one.row).slice(0, limit)
    const next = all.length > page.length ? { next: String(page.at(-1)!.row) } : {}
    return { notes: await book.readAll(page), ...next }
  }

  async function edit({ id, change }: Asked<'edit'>): Promise<MemoryAnswer> {
    const at = book.known(id)
    const [there] = await book.readAll([at])
    const { id: _id, scope: _scope, agent: _agent, ...body } = there!
    const label = joinLabels([body.label, ...('label' in change ? [change.label] : [])])
    const after = { ...body, ...change, label, updatedAtMs: deps.clock.nowMs() }
    checkNote(after)
    await book.write([toWritten(at, after)])
    return { notes: await book.readAll([at]) }
  }

  async function forgetWriter({ principal }: Asked<'forgetWriter'>): Promise<MemoryAnswer> {
    const notes = await book.readAll(book.index().all(isIn(undefined)))
    const theirs = notes.filter(({ origins }) => origins.some((one) => one.principal === principal))
    return { forgotten: book.remove(theirs.map(({ id }) => id)) }
  }

  return oneChangeAtATime(answer, changing)
}

function forget({ ids, session, places }: Asked<'forget'>, book: NoteBook): MemoryAnswer {
  const all = book.index().all(isIn(places))
  if (ids || session !== undefined) {
    const ofSession = session === undefined ? [] : book.rows.ofSession(session)
    const wanted = new Set([...(ids ?? []), ...ofSession])
    const gone = all.filter(({ id }) => wanted.has(id))
    return { forgotten: book.remove(gone.map(({ id }) => id)) }
  }
  const forgotten = book.remove(all.map(({ id }) => id))
  // The key goes with the last note: a copy of the rows can then be opened by no key.
  if (book.index().all(isIn(undefined)).length === 0) {
    book.rows.drop()
    book.key.forget()
  }
  return { forgotten }
}
