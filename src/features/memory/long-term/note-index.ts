import type { NotePlace } from '#contracts/long-term.ts'
import { packNotes, rankNotes, type PackedNotes } from './rank-notes.ts'
import type { IndexedNote, IndexHit } from './indexed-note.ts'
import type { NoteWords } from './note-words.ts'

const leastAlike = 1 / 3
/** The most notes with the same words, in any order, that are compared. */
const maxAlike = 50
/** A question has fewer; of a longer text the first say what it is about. */
const maxQueryWords = 64

/** An object's notes in memory, by keyed words. A search finds only notes that are in it. */
export interface NoteIndex {
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
  /** The notes of a place whose words are most alike, if at least a third of all are in both; several that are so equally. */
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
