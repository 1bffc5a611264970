import type { NotePlace } from '#contracts/long-term.ts'
import type { NoteWords } from './note-words.ts'

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
