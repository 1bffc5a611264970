import type { NotePlace } from '#contracts/long-term.ts'
import type { NoteWords } from './note-words.ts'

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
