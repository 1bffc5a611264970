import type { NotePlace, Note, PlaceStats } from '#contracts/long-term.ts'
import {
  type IndexedNote,
  type IndexHit,
  type NoteWords,
  wordsOf,
  type Fields,
  type HashWord,
  type WordReader,
} from './note-words.ts'
import { packNotes, rankNotes, type PackedNotes } from './rank-notes.ts'
import { IsolaError } from '#contracts/errors.ts'
import { maxNotesOfPlace } from '../types.ts'
import type { Clock, Ids } from '#contracts/sources.ts'
import { createNoteRows, type NoteRows, type NoteStorage } from './note-rows.ts'
import { createTenantKey, type TenantKey, type TenantKeyDeps } from './tenant-key.ts'

const leastAlike = 1 / 3
/** The most notes with the same words, in any order, that are compared. */
const maxAlike = 50
/** A question has fewer; of a longer text the first say what it is about. */
const maxQueryWords = 64

/** An object's notes in memory, by keyed words. A search finds only notes that are in it. */
interface NoteIndex {
  readonly put: (note: IndexedNote) => void
  readonly remove: (id: string) => void
  readonly get: (id: string) => IndexedNote | undefined
  /** In the order in which they were written first. */
  readonly all: (isIn: (place: NotePlace) => boolean) => readonly IndexedNote[]
  /**
   * BM25 over a note and, at half and a quarter, the turns before and behind it in its conversation. Best first; equal
   * ones in the order in which they were written.
   */
  readonly search: (
    hashes: readonly number[],
    isIn: (place: NotePlace) => boolean,
    limit: number,
  ) => readonly IndexHit[]
  /**
   * The notes of a place whose words are most alike, if at least a third of all are in both; several that are so
   * equally.
   */
  readonly mostAlike: (words: NoteWords, place: NotePlace) => readonly IndexedNote[]
}

/** An index that is empty. */
export function createNoteIndex(): NoteIndex {
  const notes = new Map<string, IndexedNote>()
  let packed: PackedNotes | undefined
  return {
    put(note) {
      notes.set(note.id, note)
      packed = undefined
    },
    remove(id) {
      if (notes.delete(id)) packed = undefined
    },
    get: (id) => notes.get(id),
    all: (isIn) => [...notes.values()].filter(({ place }) => isIn(place)),
    search(hashes, isIn, limit) {
      const wanted = [...new Set(hashes)].slice(0, maxQueryWords)
      packed ??= packNotes([...notes.values()])
      return rankNotes(packed, wanted, { isIn, limit })
    },
    mostAlike(words, place) {
      const own = new Set(words.hashes)
      let best: IndexedNote[] = []
      let most = leastAlike
      for (const note of notes.values()) {
        if (note.place !== place) continue
        const { hashes } = note.words
        let both = 0
        for (const hash of hashes) if (own.has(hash)) both += 1
        const share = both / (own.size + hashes.length - both || 1)
        if (share < most) continue
        if (share > most) best = []
        most = share
        if (best.length < maxAlike) best.push(note)
      }
      return best
    },
  }
}

/** The dependencies of a store of notes. */
export interface NoteStoreDeps
  extends WordReader, Pick<TenantKeyDeps, 'sealing' | 'keyedHash' | 'randomBytes'> {
  readonly clock: Pick<Clock, 'nowMs' | 'sleep'>
  readonly ids: Pick<Ids, 'next'>
}

/** The sealed part of a note. */
export type NoteBody = Omit<Note, 'id' | 'scope' | 'agent'>

/** The field that every sealed body has. */
interface Body {
  readonly updatedAtMs: number
}
type Kept<B> = B & Pick<Note, 'id' | 'scope' | 'agent'>

/** A body to be written. `sessions`: the sessions it came from, so that forgetting a session finds it. */
export interface Written<B> extends Pick<IndexedNote, 'id' | 'place' | 'conversation'> {
  readonly sessions: readonly string[]
  readonly body: B
}

/** The differences between the kinds of sealed books. */
interface BookKind<B> {
  /** The prefix of its tables and the name of its key. */
  readonly name: 'memory' | 'knowledge'
  readonly fieldsOf: (body: B) => Fields
}

/** Notes as they are kept: rows, the index over them, and the key that opens them. */
export interface NoteBook<B extends Body = NoteBody> {
  readonly rows: NoteRows
  readonly key: TenantKey
  /** Read from the rows once. */
  readonly index: () => NoteIndex
  /** Undefined for one that was forgotten meanwhile. */
  readonly read: (note: IndexedNote) => Promise<Kept<B> | undefined>
  readonly readAll: (notes: readonly IndexedNote[]) => Promise<readonly Kept<B>[]>
  /** The best of these places, with how well they fit, best first. Looking for what was never kept makes no key. */
  readonly search: (
    query: string,
    places: readonly NotePlace[] | undefined,
    limit: number,
  ) => Promise<readonly (Kept<B> & { readonly score: number })[]>
  /** All or none, in the place of those that go, and whatever else belongs to the same change. */
  readonly write: (
    notes: readonly Written<B>[],
    gone?: readonly string[],
    also?: () => void,
  ) => Promise<void>
  /** Throws `request_not_found`, with the field that named it, for one that is not in these places. */
  readonly known: (id: string, places?: readonly NotePlace[], param?: string) => IndexedNote
  /** Answers how many there were. */
  readonly remove: (ids: readonly string[]) => number
  /** Removes what a place, and the object, has too much of: the oldest go first. */
  readonly evict: (place: NotePlace) => number
}

const maxBytesOfPlace = 16 * 1024 * 1024
/** The most of all places of an object together, in limits of one place: all are loaded into memory. */
const mostPlaces = 4

/** So many are sealed at once. */
const slice = 20

/** Caches hashes: each word is hashed once. */
function remember(hash: HashWord): HashWord {
  const known = new Map<string, number>()
  return (word) => {
    const kept = known.get(word) ?? hash(word)
    known.set(word, kept)
    return kept
  }
}

/** Whether a place is one of these; every place is, if none are given. */
export const isIn =
  (places: readonly NotePlace[] | undefined) =>
  (place: NotePlace): boolean =>
    places?.includes(place) ?? true

/** @param owner The object's id, which its key is bound to. */
export function createNoteBook<B extends Body>(
  storage: NoteStorage,
  owner: string,
  { name, fieldsOf, ...deps }: NoteStoreDeps & BookKind<B>,
): NoteBook<B> {
  const rows = createNoteRows(storage, name)
  const sealedAs = { name: `${name} of ${owner}`, load: rows.key, save: rows.saveKey }
  const key = createTenantKey({ ...deps, ...sealedAs })
  let loaded: NoteIndex | undefined
  const index = (): NoteIndex => {
    if (loaded) return loaded
    loaded = createNoteIndex()
    rows.all().forEach(loaded.put)
    return loaded
  }

  async function read({ id, place }: IndexedNote): Promise<Kept<B> | undefined> {
    const sealed = rows.sealed(id)
    if (!sealed) return undefined
    const body = JSON.parse(await (await key.open()).open([place, id], sealed)) as B
    return { id, ...toScope(place), ...body }
  }

  function remove(given: readonly string[]): number {
    const gone = new Set(given)
    if (gone.size > 0) storage.transactionSync(() => rows.remove([...gone]))
    gone.forEach(index().remove)
    return gone.size
  }

  const readAll = async (notes: readonly IndexedNote[]) =>
    (await Promise.all(notes.map(read))).flatMap((note) => note ?? [])

  return {
    rows,
    key,
    index,
    read,
    remove,
    readAll,
    async search(query, places, limit) {
      if (!rows.key()) return []
      const { hash } = await key.open()
      const hashes = [...deps.queryTerms(query).keys()].map(hash)
      const hits = index().search(hashes, isIn(places), limit)
      const scores = new Map(hits.map(({ note, score }) => [note.id, score]))
      const found = await readAll(hits.map(({ note }) => note))
      return found.map((one) => ({ ...one, score: scores.get(one.id)! }))
    },
    async write(notes, gone = [], also) {
      const { hash, seal } = await key.open()
      const hashOnce = remember(hash)
      const toRow = async ({ body, ...note }: Written<B>) => ({
        ...note,
        words: wordsOf(fieldsOf(body), hashOnce, deps),
        updatedAtMs: body.updatedAtMs,
        sealed: await seal([note.place, note.id], JSON.stringify(body)),
      })
      const sealed: Awaited<ReturnType<typeof toRow>>[] = []
      for (let at = 0; at < notes.length; at += slice) {
        // A long document has thousands: others are answered between them.
        if (at > 0) await deps.clock.sleep(0)
        sealed.push(...(await Promise.all(notes.slice(at, at + slice).map(toRow))))
      }
      const put = storage.transactionSync(() => {
        rows.remove(gone)
        also?.()
        return sealed.map(rows.put)
      })
      gone.forEach(index().remove)
      put.forEach(index().put)
    },
    known(id, places, param = 'id') {
      const note = index().get(id)
      if (note && isIn(places)(note.place)) return note
      throw new IsolaError('request_not_found', `${param}: there is no such note.`, { param })
    },
    evict(place) {
      const own = index().all(isIn([place]))
      const all = index().all(isIn(undefined))
      const gone = [
        ...oldestBeyond(own, maxNotesOfPlace, maxBytesOfPlace),
        ...oldestBeyond(all, mostPlaces * maxNotesOfPlace, mostPlaces * maxBytesOfPlace),
      ]
      return remove(gone.map(({ id }) => id))
    },
  }
}

/**
 * Answers requests; runs the changing verbs one after the other, since a change awaits between its read and its
 * write.
 */
export function oneChangeAtATime<Request extends { readonly verb: string }, Answer>(
  answer: (request: Request) => Promise<Answer>,
  changing: readonly Request['verb'][],
): (request: Request) => Promise<Answer> {
  let changes: Promise<unknown> = Promise.resolve()
  return (request) => {
    if (!changing.includes(request.verb)) return answer(request)
    const next = changes.then(() => answer(request))
    changes = next.catch(() => undefined)
    return next
  }
}

/** A place in the form of the API. */
export const toScope = (place: NotePlace): Pick<Note, 'scope' | 'agent'> =>
  place === 'principal' || place === 'deployment'
    ? { scope: place }
    : { scope: 'agent', agent: place.slice('agent:'.length) }

/** The notes that have to go, least recently used first. */
function oldestBeyond(
  notes: readonly IndexedNote[],
  most: number,
  mostBytes: number,
): readonly IndexedNote[] {
  let left = notes.length
  let bytes = notes.reduce((sum, note) => sum + note.bytes, 0)
  if (left <= most && bytes <= mostBytes) return []
  return notes
    .toSorted((one, other) => one.updatedAtMs - other.updatedAtMs || one.row - other.row)
    .filter((note) => {
      if (left <= most && bytes <= mostBytes) return false
      left -= 1
      bytes -= note.bytes
      return true
    })
}

/** The number of notes and their bytes, by place. */
export function statsOf({ index }: Pick<NoteBook, 'index'>): readonly PlaceStats[] {
  const places = Map.groupBy(index().all(isIn(undefined)), ({ place }) => place)
  return [...places].map(([place, notes]) => ({
    ...toScope(place),
    notes: notes.length,
    bytes: notes.reduce((sum, { bytes }) => sum + bytes, 0),
  }))
}
