import type { NotePlace } from '#contracts/long-term.ts'
import type { NoteWords } from './note-words.ts'

const k1 = 1.2
const b = 0.75
/** What a note's neighbours count in it: one turn away, two. Measured: bench/memory. */
const neighbourShares = [0.5, 0.25] as const
/** A question has fewer; of a longer text the first say what it is about. */
const maxQueryWords = 64

/** A note as the index knows it: nothing of it can be read. */
export interface IndexedNote {
  readonly row: number
  readonly id: string
  readonly place: NotePlace
  /** Of the conversation's name, keyed; 0 for a note that stands alone. */
  readonly conversation: number
  readonly words: NoteWords
  readonly bytes: number
  readonly updatedAtMs: number
}

/** A note that fits, and how well. */
export interface IndexHit {
  readonly note: IndexedNote
  readonly score: number
}

/** An object's notes in memory, by keyed words. What is not in it cannot be found. */
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
  /** The note of a place whose words are most alike, if at least a third of all are in both. */
  readonly mostAlike: (words: NoteWords, place: NotePlace) => IndexedNote | undefined
}

/** An index that is empty. A search reads every note once, which at 10,000 takes a few milliseconds. */
export function createNoteIndex(): NoteIndex {
  const notes = new Map<string, IndexedNote>()
  const all: NoteIndex['all'] = (isIn) => [...notes.values()].filter(({ place }) => isIn(place))
  return {
    put: (note) => void notes.set(note.id, note),
    remove: (id) => void notes.delete(id),
    get: (id) => notes.get(id),
    all,
    search(hashes, isIn, limit) {
      const wanted = [...new Set(hashes)].slice(0, maxQueryWords)
      if (wanted.length === 0) return []
      return rank(inConversations(all(isIn)), wanted)
        .toSorted((one, other) => other.score - one.score || one.note.row - other.note.row)
        .slice(0, limit)
    },
    mostAlike(words, place) {
      const own = new Set(words.hashes)
      let best: { readonly note: IndexedNote; readonly share: number } | undefined
      for (const note of notes.values()) {
        if (note.place !== place) continue
        const { hashes } = note.words
        let both = 0
        for (const hash of hashes) if (own.has(hash)) both += 1
        const share = both / (own.size + hashes.length - both || 1)
        if (share >= 1 / 3 && share > (best?.share ?? 0)) best = { note, share }
      }
      return best?.note
    },
  }
}

/** Conversation by conversation, each in its order; a note that stands alone is one by itself. */
function inConversations(notes: readonly IndexedNote[]): readonly (readonly IndexedNote[])[] {
  const groups = new Map<string, IndexedNote[]>()
  for (const note of notes) {
    const { conversation, place } = note
    const key = conversation === 0 ? note.id : `${place} ${conversation}`
    const group = groups.get(key)
    if (group) group.push(note)
    else groups.set(key, [note])
  }
  return [...groups.values()]
}

function rank(
  groups: readonly (readonly IndexedNote[])[],
  wanted: readonly number[],
): readonly IndexHit[] {
  const width = wanted.length
  const places = new Map(wanted.map((hash, index) => [hash, index]))
  // Most words are none of these, and one byte of theirs says so.
  const isMaybe = new Uint8Array(256)
  for (const hash of wanted) isMaybe[hash & 255] = 1
  const held = new Float64Array(width)
  let lengths = 0
  let count = 0
  const scored = groups.flatMap((group) => {
    const own = new Float64Array(group.length * width)
    group.forEach(({ words: { hashes, weights } }, index) => {
      for (let at = 0; at < hashes.length; at += 1) {
        const hash = hashes[at]!
        if (isMaybe[hash & 255] === 0) continue
        const place = places.get(hash)
        if (place !== undefined) own[index * width + place] = weights[at]!
      }
    })
    return group.map((note, index) => {
      const found = own.slice(index * width, (index + 1) * width)
      let { length } = note.words
      neighbourShares.forEach((share, away) => {
        for (const at of [index - away - 1, index + away + 1]) {
          const neighbour = group[at]
          if (!neighbour) continue
          length += share * neighbour.words.length
          for (let place = 0; place < width; place += 1)
            found[place]! += share * own[at * width + place]!
        }
      })
      for (let place = 0; place < width; place += 1) if (found[place]! > 0) held[place]! += 1
      lengths += length
      count += 1
      return { note, found, length }
    })
  })
  const average = lengths / (count || 1) || 1
  const rarity = held.map((docs) => Math.log(1 + (count - docs + 0.5) / (docs + 0.5)))
  return scored.flatMap(({ note, found, length }) => {
    const norm = k1 * (1 - b + (b * length) / average)
    let score = 0
    for (let place = 0; place < width; place += 1) {
      const frequency = found[place]!
      if (frequency > 0) score += (rarity[place]! * frequency * (k1 + 1)) / (frequency + norm)
    }
    return score > 0 ? [{ note, score }] : []
  })
}
