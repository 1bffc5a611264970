import type { PlaceStats } from '#contracts/long-term.ts'
import { isIn, toScope, type NoteBook } from './note-book.ts'

/** How much each place of a book holds. */
export function statsOf({ index }: Pick<NoteBook, 'index'>): readonly PlaceStats[] {
  const places = Map.groupBy(index().all(isIn(undefined)), ({ place }) => place)
  return [...places].map(([place, notes]) => ({
    ...toScope(place),
    notes: notes.length,
    bytes: notes.reduce((sum, { bytes }) => sum + bytes, 0),
  }))
}
