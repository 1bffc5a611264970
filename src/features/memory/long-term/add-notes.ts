import { IsolaError } from '#contracts/errors.ts'
import { maxNoteChars } from '../types.ts'
import type { NewNote, AddedNote, MemoryAnswer, MemoryRequest, Note } from '#contracts/long-term.ts'
import { type WordReader, wordsOf } from './note-words.ts'
import { defined } from '#contracts/defined.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type { NoteBody, NoteBook, NoteStoreDeps, Written } from './note-book.ts'
import type { IndexedNote } from './note-words.ts'

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

const differingShare = 0.5
/** A full stop, or an exclamation mark behind a letter: `5!` is another number. */
const endOfSentence =
  /(?:[.\u3002\uff0e\uff61\u0964\u0965\u06d4\u0589\u1362\u104b\u17d4]|(?<=[\p{L}\p{M}])[!\uff01])$/u

/** How a text compares with one that is kept. */
type Comparison = 'same' | 'differs' | 'other'

/**
 * `same`: the same words in the same order, but for blanks, the end of the sentence and the case of its first letter.
 * In no language do other words, signs or another order say the same for sure, nor do other capitals: "the US team"
 * and "the us team" are two teams. `differs`: much the same words and yet not the same, which may be a change or a
 * contradiction.
 */
function compareTexts(one: string, other: string, reader: WordReader): Comparison {
  if (plain(one) === plain(other)) return 'same'
  const [own, theirs] = [tellingOf(one, reader), tellingOf(other, reader)]
  const both = [...own].filter((word) => theirs.has(word)).length
  return both / (own.size + theirs.size - both || 1) < differingShare ? 'other' : 'differs'
}

const tellingOf = (text: string, { queryTerms }: WordReader): ReadonlySet<string> =>
  new Set(queryTerms(text).keys())

function plain(text: string): string {
  const said = text.normalize('NFC').replace(/\s+/gu, ' ').trim()
  const ended = said.replace(endOfSentence, '').trimEnd() || said
  return ended.replace(/^\p{L}/u, (first) => first.toLowerCase())
}

type AddRequest = Extract<MemoryRequest, { verb: 'add' }>

const maxOrigins = 16

/**
 * Adds notes one after the other, so that each meets those before it: a note that repeats another is merged into it,
 * a note that replaces another takes its place.
 */
export async function addNotes(
  { place, notes, budget, dryRun = false }: AddRequest,
  book: NoteBook,
  deps: NoteStoreDeps,
): Promise<MemoryAnswer> {
  notes.forEach(checkNote)
  const used = budget ? book.rows.writes(budget.run) + notes.length : 0
  if (budget && used > budget.most) {
    const message = `A run may remember ${budget.most} notes, and this would be ${used}.`
    throw new IsolaError('tool_failed', message)
  }
  const added: AddedNote[] = []
  for (const note of notes) {
    const { at, body, told } = await plan(note, place, { book, deps })
    if (!dryRun) await book.write([toWritten(at, body)])
    added.push(told)
  }
  if (dryRun) return { added }
  if (budget) book.rows.noteWrites(budget.run, used, deps.clock.nowMs())
  return { added, evicted: book.evict(place) }
}

/** With the sessions that it came from, which it is forgotten by. */
export const toWritten = (
  { id, place, conversation }: Planned['at'],
  body: NoteBody,
): Written<NoteBody> => {
  const sessions = [...new Set(body.origins.flatMap(({ session }) => session ?? []))]
  return { id, place, conversation, sessions, body }
}

interface Planned {
  readonly at: Pick<IndexedNote, 'id' | 'place' | 'conversation'>
  readonly body: NoteBody
  readonly told: AddedNote
}

async function plan(
  note: NewNote,
  place: AddRequest['place'],
  { book, deps }: { readonly book: NoteBook; readonly deps: NoteStoreDeps },
): Promise<Planned> {
  const { hash } = await book.key.open()
  const { conversation, kind = 'note', origin, label, replaces, ...said } = note
  const nowMs = deps.clock.nowMs()
  const written = (id: string, differs: Pick<AddedNote, 'differsFrom'>) => ({
    at: {
      id,
      place,
      conversation: conversation === undefined ? 0 : hash(`conversation ${conversation}`),
    },
    body: {
      ...said,
      ...defined({ conversation }),
      kind,
      label: joinLabels([label]),
      origins: origin ? [origin] : [],
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      ...differs,
    },
  })
  if (replaces !== undefined) {
    await checkReplaced(replaces, note, place, book)
    return { ...written(replaces, {}), told: { id: replaces, state: 'replaced' } }
  }
  // Two speakers make two notes.
  const alike = kind === 'turn' ? [] : book.index().mostAlike(wordsOf(note, hash, deps), place)
  const there = (await book.readAll(alike)).filter(
    (one) => one.kind !== 'turn' && one.speaker === note.speaker,
  )
  const comparisons = there.map((one) => compareTexts(note.text, one.text, deps))
  const same = there.find(
    (one, at) =>
      comparisons[at] === 'same' && one.date === note.date && one.caption === note.caption,
  )
  if (same) {
    const at = alike.find(({ id }) => id === same.id)!
    return { at, body: merged(same, note, nowMs), told: { id: same.id, state: 'merged' } }
  }
  const other = there[comparisons.findIndex((one) => one !== 'other')]
  const differs = other ? { differsFrom: [other.id] } : {}
  const id = deps.ids.next('mem')
  return { ...written(id, differs), told: { id, state: 'added', ...differs } }
}

/** Only what is there, and what a stranger can have written takes the place of nothing that no stranger can. */
async function checkReplaced(
  id: string,
  { label }: NewNote,
  place: AddRequest['place'],
  { known, readAll }: NoteBook,
): Promise<void> {
  const [there] = await readAll([known(id, [place], 'replaces')])
  const isStranger = (one: Label | undefined) => joinLabels([one]).integrity === 'stranger'
  if (there && isStranger(label) && !isStranger(there.label)) {
    const message =
      'replaces: this conversation has read what a stranger can have written, and the note is no stranger’s. ' +
      'Add a note beside it.'
    throw new IsolaError('tool_failed', message, { param: 'replaces' })
  }
}

/** The longer text says what both say. */
function merged(there: Note, { text, origin, label }: NewNote, nowMs: number): NoteBody {
  const { id: _id, scope: _scope, agent: _agent, ...body } = there
  return {
    ...body,
    text: text.length > there.text.length ? text : there.text,
    label: joinLabels([there.label, label]),
    origins: [...(origin ? [origin] : []), ...there.origins].slice(0, maxOrigins),
    updatedAtMs: nowMs,
  }
}
