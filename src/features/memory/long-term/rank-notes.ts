import type { NotePlace } from '#contracts/long-term.ts'
import type { IndexedNote, IndexHit } from './note-words.ts'

/** FTS5's own constants. */
const k1 = 1.2
const b = 0.75
/** The weight of a note's own words, and of notes one and two turns away. Measured: bench/memory. */
const shares = [1, 0.5, 0.25] as const
const reach = shares.length - 1
/** Bits of a hash that rule out most words which the query does not have. */
const sieveSize = 1_024

/** Notes in one row of words, the turns of a conversation side by side: a search reads it from end to end. */
export interface PackedNotes {
  readonly notes: readonly IndexedNote[]
  /** The place where each note's words begin; one entry more than there are notes. */
  readonly starts: Uint32Array
  /** The place where the conversation of each note begins and ends. */
  readonly groups: readonly (readonly [first: number, end: number])[]
  /** With its share of its neighbours'. */
  readonly lengths: Float64Array
  readonly hashes: Float64Array
  /** The low bits of each hash, which are cheap to read. */
  readonly sieved: Uint16Array
  readonly weights: Float32Array
}

/** Conversation by conversation, each in the order of writing; a note without a conversation stands alone. */
export function packNotes(all: readonly IndexedNote[]): PackedNotes {
  const conversations = Map.groupBy(
    all.toSorted((one, other) => one.row - other.row),
    ({ id, place, conversation }) => (conversation === 0 ? id : `${place} ${conversation}`),
  )
  const notes = [...conversations.values()].flat()
  const groups = [...conversations.values()].reduce<(readonly [number, number])[]>((found, one) => {
    const first = found.length
    const group = [first, first + one.length] as const
    for (let at = 0; at < one.length; at += 1) found.push(group)
    return found
  }, [])
  const starts = new Uint32Array(notes.length + 1)
  notes.forEach(({ words }, at) => (starts[at + 1] = starts[at]! + words.hashes.length))
  const count = starts[notes.length] ?? 0
  const hashes = new Float64Array(count)
  const weights = new Float32Array(count)
  notes.forEach(({ words }, at) => {
    hashes.set(words.hashes, starts[at])
    weights.set(words.weights, starts[at])
  })
  const sieved = Uint16Array.from(hashes, (hash) => hash % sieveSize)
  const lengths = Float64Array.from(notes, (_note, at) => {
    let length = 0
    around(at, groups[at]!, (near, share) => (length += share * notes[near]!.words.length))
    return length
  })
  return { notes, groups, starts, lengths, hashes, sieved, weights }
}

function around(
  at: number,
  [first, end]: readonly [number, number],
  each: (near: number, share: number) => void,
): void {
  for (let near = Math.max(first, at - reach); near < Math.min(end, at + reach + 1); near += 1)
    each(near, shares[Math.abs(near - at)]!)
}

/** The best by BM25 of the notes of these places that have a word of these, themselves or near them; best first. */
export function rankNotes(
  packed: PackedNotes,
  wanted: readonly number[],
  { isIn, limit }: { readonly isIn: (place: NotePlace) => boolean; readonly limit: number },
): readonly IndexHit[] {
  const { notes, groups, starts, hashes, sieved, weights, lengths } = packed
  const width = wanted.length
  const columns = new Map(wanted.map((hash, column) => [hash, column]))
  const isMaybe = new Uint8Array(sieveSize)
  for (const hash of wanted) isMaybe[hash % sieveSize] = 1
  const found = new Float32Array(notes.length * width)
  /** For each word, the number of notes that have it, or have it near. */
  const held = new Uint32Array(width)
  const isTouched = new Uint8Array(notes.length)
  const places = new Map<NotePlace, boolean>()
  let count = 0
  let sum = 0
  for (let at = 0; at < notes.length; at += 1) {
    const { place } = notes[at]!
    const isAsked = places.get(place) ?? isIn(place)
    places.set(place, isAsked)
    if (!isAsked) continue
    count += 1
    sum += lengths[at]!
    for (let word = starts[at]!; word < starts[at + 1]!; word += 1) {
      if (isMaybe[sieved[word]!] === 0) continue
      const column = columns.get(hashes[word]!)
      if (column === undefined) continue
      const [first, end] = groups[at]!
      const last = Math.min(end - 1, at + reach)
      for (let near = Math.max(first, at - reach); near <= last; near += 1) {
        const cell = near * width + column
        if (found[cell] === 0) held[column]! += 1
        found[cell]! += shares[Math.abs(near - at)]! * weights[word]!
        isTouched[near] = 1
      }
    }
  }
  const average = sum / (count || 1) || 1
  const rarity = Array.from(held, (docs) => Math.log(1 + (count - docs + 0.5) / (docs + 0.5)))
  const hits: IndexHit[] = []
  for (let at = 0; at < notes.length; at += 1) {
    if (isTouched[at] === 0) continue
    const norm = k1 * (1 - b + (b * lengths[at]!) / average)
    let score = 0
    for (let column = 0; column < width; column += 1) {
      const frequency = found[at * width + column]!
      if (frequency > 0) score += (rarity[column]! * frequency * (k1 + 1)) / (frequency + norm)
    }
    insert(hits, { note: notes[at]!, score }, limit)
  }
  return hits
}

/** Few are wanted of thousands: most are worse than the last of those that are kept. */
function insert(hits: IndexHit[], hit: IndexHit, limit: number): void {
  if (hits.length >= limit && !isBefore(hit, hits[limit - 1]!)) return
  let at = hits.length
  while (at > 0 && isBefore(hit, hits[at - 1]!)) at -= 1
  hits.splice(at, 0, hit)
  if (hits.length > limit) hits.pop()
}

/** Equal ones in the order in which they were written. */
const isBefore = (one: IndexHit, other: IndexHit): boolean =>
  one.score > other.score || (one.score === other.score && one.note.row < other.note.row)
