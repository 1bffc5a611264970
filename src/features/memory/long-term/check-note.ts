import { IsolaError } from '#contracts/errors.ts'
import { maxNoteChars } from '../types.ts'
import { type NewNote } from '#contracts/long-term.ts'

const most = {
  text: maxNoteChars,
  speaker: 100,
  caption: 1_000,
  date: 60,
  conversation: 200,
} as const

/** Throws `request_invalid` that names the field. Every way in ends here. */
export function checkNote(note: Pick<NewNote, keyof typeof most>): void {
  if (typeof note.text !== 'string' || note.text.trim() === '')
    throw invalid('text', 'must be a text that is not blank')
  for (const [field, chars] of Object.entries(most)) {
    const value: unknown = note[field as keyof typeof most]
    if (value === undefined) continue
    if (typeof value !== 'string' || value.length > chars)
      throw invalid(field, `must be a text of at most ${chars} characters`)
  }
}

const invalid = (param: string, what: string): IsolaError =>
  new IsolaError('request_invalid', `${param}: ${what}.`, { param })
