// isola memory …: what agents remember beyond their sessions.
import { readFile } from 'node:fs/promises'
import type { Client, Reply } from '../src/client/client.ts'
import { noun, on, verb } from './command.ts'
import { isDeployment, where, whereOf, ofOne } from './memory-options.ts'
import { dryRun, flag, text, type Options, type ValuesOf } from './options.ts'
import { allPages } from './pages.ts'
import { jsonText, listed, short, time } from './text.ts'
import { UsageError } from './usage.ts'

type Note = Reply<'GET /api/memory/:note'>

const rowsOf = (notes: readonly Note[]) =>
  listed(notes, 'No notes.', {
    id: 'id',
    scope: ({ agent, scope }) => agent ?? scope,
    changed: 'updatedAtMs',
    note: ({ speaker, text }) => short(speaker === undefined ? text : `${speaker}: ${text}`),
  })

function described({ id, scope, agent, kind, speaker, caption, date, label, ...note }: Note) {
  const origins = note.origins.map((one) =>
    Object.entries(one)
      .map(([name, of]) => `${name} ${of}`)
      .join(', '),
  )
  return [
    `${id} (${kind}, ${agent === undefined ? scope : `agent ${agent}`})`,
    speaker && `by ${speaker}`,
    date && `on ${date}`,
    caption && `[${caption}]`,
    note.text,
    `written ${time(note.createdAtMs)}, changed ${time(note.updatedAtMs)}; ${label.integrity}, ${label.confidentiality}`,
    ...origins.map((origin) => `from ${origin}`),
    note.differsFrom && `differs from ${note.differsFrom.join(', ')}`,
  ]
    .filter(Boolean)
    .join('\n')
}

function outcomeOf({ added, evicted = 0 }: Reply<'POST /api/memory'>) {
  const of = (state: string) => added.filter((one) => one.state === state).length
  const gone = evicted > 0 ? `, ${evicted} of the oldest gone` : ''
  const replaced = of('replaced') > 0 ? `, ${of('replaced')} in the place of another` : ''
  return `${of('added')} added, ${of('merged')} merged with what was there${replaced}${gone}.`
}

const forgetting = {
  ...where,
  session: text('id', 'what came from this session'),
  all: flag('everything (of the scope)'),
  everywhere: flag('also where your conversations quote the note'),
} as const satisfies Options

/** Some conversations a request; the note itself is forgotten by the last. */
async function forgetNote(
  note: string,
  { scope, everywhere }: ValuesOf<typeof forgetting>,
  request: Client['request'],
) {
  const query = {
    ...(scope === 'deployment' && { scope: 'deployment' as const }),
    ...(everywhere && { everywhere: 'true' as const }),
  }
  let sessions = 0
  for (let after: string | undefined = ''; ;) {
    const answer: Reply<'DELETE /api/memory/:note'> = await request('DELETE /api/memory/:note', {
      params: { note },
      query: { ...query, ...(after !== '' && { after }) },
    })
    sessions += answer.sessions ?? 0
    after = answer.next
    if (after === undefined) return { ...answer, ...(everywhere && { sessions }) }
  }
}

/** The notes that the server takes in one request. */
const maxNotes = 200

const fields = ['text', 'kind', 'speaker', 'caption', 'date', 'conversation', 'label', 'replaces']

/** A line of a file as a new note, without what the server makes itself. */
function toNote(line: string, at: string) {
  let note: Readonly<Record<string, unknown>>
  try {
    note = JSON.parse(line)
  } catch {
    throw new UsageError(`${at}: not JSON.`)
  }
  if (typeof note['text'] !== 'string') throw new UsageError(`${at}: has no text.`)
  const given = fields.flatMap((name) => (note[name] === undefined ? [] : [[name, note[name]]]))
  // The server refuses other faults.
  return Object.fromEntries(given) as { readonly text: string }
}

const scopeUsage = '[--scope <scope>] [--agent <id>]' as const

export default noun('memory', {
  list: verb({
    usage: scopeUsage,
    about: 'What is remembered for you, newest first; with --scope deployment, for all principals.',
    options: where,
    async run({ values, request, print }) {
      const page = await request('GET /api/memory', { query: whereOf(values) })
      const more = page.next === undefined ? '' : '\nThere are more: isola memory export has all.'
      print(page, `${rowsOf(page.notes)}${more}`)
    },
  }),
  search: verb({
    usage: `<words> … ${scopeUsage}`,
    options: where,
    async run({ args, values, request, print }) {
      const query = { ...whereOf(values), query: args.join(' '), limit: '20' }
      const found = await request('GET /api/memory', { query })
      print(found, rowsOf(found.notes))
    },
  }),
  show: on('GET /api/memory/:note', {
    usage: '<note>',
    about: 'A note with where it came from.',
    options: isDeployment,
    says: described,
  }),
  add: verb({
    usage: `<text> … [--replaces <note>] ${scopeUsage} [--dry-run]`,
    options: {
      ...where,
      ...dryRun,
      replaces: text('note', 'the note whose place it takes'),
    },
    async run({ args, values, request, print }) {
      const { 'dry-run': isRehearsed = false, replaces } = values
      const note = { text: args.join(' '), ...(replaces !== undefined && { replaces }) }
      const body = { ...whereOf(values), notes: [note], dryRun: isRehearsed }
      const answer = await request('POST /api/memory', { body })
      print(answer, outcomeOf(answer))
    },
  }),
  edit: verb({
    usage: '<note> <text> … [--deployment]',
    about: 'Puts another text in its place; all else of the note stays.',
    options: isDeployment,
    async run({ args: [note, ...words], values, request, print }) {
      const body = { text: words.join(' ') }
      const query = ofOne(values)
      const changed = await request('POST /api/memory/:note', { params: { note }, query, body })
      print(changed, rowsOf([changed]))
    },
  }),
  forget: verb({
    usage: '[<note>] [--everywhere] [--session <id>] [--all] [--scope <scope>] [--yes]',
    about: 'For good: a note, what came from a session, or all of it.',
    asks: ({ args: [note], values }) =>
      `Forget ${note ?? (values.session ? `what came from ${values.session}` : 'everything')}, for good?`,
    options: forgetting,
    async run({ args: [note], values, request, print }) {
      const { all = false, session, everywhere } = values
      const chosen = [note !== undefined, session !== undefined, all].filter(Boolean)
      if (chosen.length !== 1) throw new UsageError('Name a note, --session <id>, or --all.')
      if (everywhere && note === undefined) throw new UsageError('--everywhere goes with a note.')
      const query = { ...whereOf(values), ...(session !== undefined && { session }) }
      const answer: { readonly forgotten: number; readonly sessions?: number | undefined } =
        note === undefined
          ? await request('DELETE /api/memory', { query })
          : await forgetNote(note, values, request)
      const { sessions, forgotten } = answer
      const quoted = sessions === undefined ? '' : ` Taken out of ${sessions} conversations.`
      print(answer, `${forgotten} forgotten.${quoted}`)
    },
  }),
  export: verb({
    usage: scopeUsage,
    about: 'All notes as JSON lines, the oldest first.',
    options: where,
    async run({ values, request, stdout }) {
      const query = { ...whereOf(values), limit: '500' }
      const notes = await allPages(
        (after) => request('GET /api/memory', { query: { ...query, ...after } }),
        (page) => page.notes,
      )
      // The oldest first: turns come back in the order in which they were said.
      for (const note of notes.toReversed()) stdout.write(`${jsonText(note)}\n`)
    },
  }),
  import: verb({
    usage: `<file> ${scopeUsage} [--dry-run]`,
    about:
      'Notes as JSON lines, such as export writes them. A note that is there already is merged; with `replaces` a note takes the place of that one.',
    options: { ...where, ...dryRun },
    async run({ args: [file], values, request, print }) {
      const written = (await readFile(file, 'utf8'))
        .split('\n')
        .filter((line) => line.trim() !== '')
      const notes = written.map((line, at) => toNote(line, `${file}, line ${at + 1}`))
      const shared = { ...whereOf(values), dryRun: values['dry-run'] ?? false }
      const added: Reply<'POST /api/memory'>['added'] = []
      let evicted = 0
      for (let at = 0; at < notes.length; at += maxNotes) {
        const body = { ...shared, notes: notes.slice(at, at + maxNotes) }
        const answer = await request('POST /api/memory', { body })
        added.push(...answer.added)
        evicted += answer.evicted ?? 0
      }
      const answer = { added, evicted }
      print(answer, outcomeOf(answer))
    },
  }),
})
