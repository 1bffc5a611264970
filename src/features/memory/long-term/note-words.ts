import type { NewNote, NotePlace } from '#contracts/long-term.ts'

/** How texts become words that are compared (the catalog's stemmer). */
export interface WordReader {
  readonly termsOf: (text: string) => readonly string[]
  /** Without those that say nothing, unless there are no others. */
  readonly queryTerms: (text: string) => ReadonlyMap<string, string>
}

/** Hashes a word of one tenant: 48 bits of a keyed hash. */
export type HashWord = (word: string) => number

/** A note in the index: each distinct word once, with its weight. */
export interface NoteWords {
  readonly hashes: Float64Array
  readonly weights: Float32Array
  /** All weights together. */
  readonly length: number
}

/** A note as the index knows it: nothing of it can be read. */
export interface IndexedNote {
  readonly row: number
  readonly id: string
  readonly place: NotePlace
  /** A keyed hash of the conversation's name; 0 for a note without a conversation. */
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

/** Round figures, tuned on half of the conversations of bench/memory. */
const fields = [
  ['text', 1],
  ['speaker', 1],
  ['caption', 0.5],
  ['date', 0.5],
] as const
const bytesOfWord = 8
const weightSteps = 2
const maxWeight = 0xffff / weightSteps
const high = 0x1_0000_0000

/** The searched fields of a note. */
export type Fields = Pick<NewNote, 'text' | 'speaker' | 'caption' | 'date'>

/** The words of a note. */
export function wordsOf(note: Fields, hash: HashWord, { termsOf }: WordReader): NoteWords {
  const found = new Map<string, number>()
  for (const [field, weight] of fields) {
    for (const term of termsOf(note[field] ?? ''))
      found.set(term, Math.min((found.get(term) ?? 0) + weight, maxWeight))
  }
  return toWords([...found.keys()].map(hash), [...found.values()])
}

function toWords(hashes: readonly number[], weights: readonly number[]): NoteWords {
  return {
    hashes: Float64Array.from(hashes),
    weights: Float32Array.from(weights),
    length: weights.reduce((sum, weight) => sum + weight, 0),
  }
}

/** Eight bytes a word: six of its hash, two of its weight. */
export function packWords({ hashes, weights }: NoteWords): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(hashes.length * bytesOfWord))
  hashes.forEach((hash, index) => {
    const at = index * bytesOfWord
    view.setUint16(at, Math.floor(hash / high))
    view.setUint32(at + 2, hash % high)
    view.setUint16(at + 6, Math.round((weights[index] ?? 0) * weightSteps))
  })
  return view.buffer
}

/** Reads what `packWords` wrote. */
export function unpackWords(bytes: ArrayBuffer): NoteWords {
  const view = new DataView(bytes)
  const count = Math.floor(bytes.byteLength / bytesOfWord)
  const hashes: number[] = []
  const weights: number[] = []
  for (let index = 0; index < count; index += 1) {
    const at = index * bytesOfWord
    hashes.push(view.getUint16(at) * high + view.getUint32(at + 2))
    weights.push(view.getUint16(at + 6) / weightSteps)
  }
  return toWords(hashes, weights)
}
