// isola memory …: what agents remember beyond their sessions.

import type { Reply } from '../src/client/client.ts'
import { flag, text, type ValuesOf, UsageError, dryRun } from './options.ts'
import { readFileSync } from 'node:fs'
import { defined } from '../src/contracts/defined.ts'
import { noun, on, verb, type Context } from './command.ts'
import { pagesOf } from './connection.ts'
import { jsonText, lines, listed, short, time } from './text.ts'

// Whose notes or documents a command is about.

type Scope = Reply<'GET /api/memory/:note'>['scope']

export const where = {
  scope: text(undefined, 'principal, agent or deployment'),
  agent: text('id', 'of scope agent: whose'),
}
export const isDeployment = {
  deployment: flag("the deployment's, not your own", { to: 'scope', sends: 'deployment' }),
}

const scopes: readonly string[] = ['principal', 'agent', 'deployment'] satisfies readonly Scope[]

/** The scope of the two options, for a query or a body. */
export function whereOf({ scope, agent }: ValuesOf<typeof where>) {
  if (scope !== undefined && !scopes.includes(scope))
    throw new UsageError(`--scope is principal, agent or deployment, not ${scope}.`)
  const of = scope ?? (agent === undefined ? undefined : 'agent')
  return { scope: of as Scope | undefined, agent }
}
export const scopeUsage = '[--scope <scope>] [--agent <id>]'

type Note = Reply<'GET /api/memory/:note'>

const rowsOf = (notes: readonly Note[]) =>
  listed(notes, 'No notes.', {
    id: 'id',
    scope: ({ agent, scope }) => agent ?? scope,
    changed: 'updatedAtMs',
    note: ({ speaker, text }) => short(speaker === undefined ? text : `${speaker}: ${text}`),
  })

function described({ id, scope, agent, kind, speaker, caption, date, label, ...note }: Note) {
  return lines(
    `${id} (${kind}, ${agent === undefined ? scope : `agent ${agent}`})`,
    speaker && `by ${speaker}`,
    date && `on ${date}`,
    caption && `[${caption}]`,
    note.text,
    `written ${time(note.createdAtMs)}, changed ${time(note.updatedAtMs)}; ${label.integrity}, ` +
      `${label.confidentiality}`,
    note.origins.map(
      (one) =>
        `from ${Object.entries(one)
          .map((field) => field.join(' '))
          .join(', ')}`,
    ),
    note.differsFrom && `differs from ${note.differsFrom.join(', ')}`,
  )
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
}

/** Some conversations a request; the note itself is forgotten by the last. */
async function forgetNote(
  note: string,
  { scope, everywhere }: ValuesOf<typeof forgetting>,
  { request }: Pick<Context, 'request'>,
) {
  const query = {
    scope: scope === 'deployment' ? ('deployment' as const) : undefined,
    everywhere: everywhere ? ('true' as const) : undefined,
  }
  let sessions = 0
  let last: Reply<'DELETE /api/memory/:note'> = { forgotten: 0 }
  const pages = pagesOf((after) =>
    request('DELETE /api/memory/:note', { params: { note }, query: defined({ ...query, after }) }),
  )
  for await (const page of pages) {
    last = page
    sessions += page.sessions ?? 0
  }
  return { ...last, ...(everywhere && { sessions }) }
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

export default noun('memory', {
  list: on('GET /api/memory', {
    usage: scopeUsage,
    about: 'What is remembered for you, newest first; with --scope deployment, for all principals.',
    options: where,
    sends: ({ values }) => whereOf(values),
    says: ({ notes, next }) =>
      lines(rowsOf(notes), next !== undefined && 'There are more: isola memory export has all.'),
  }),
  search: verb({
    usage: `<words> … ${scopeUsage}`,
    options: where,
    async run({ args, values, ask, print }) {
      const query = { ...whereOf(values), query: args.join(' '), limit: 20 }
      const found = await ask('GET /api/memory', query)
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
    async run({ args, values, ask, print }) {
      const { 'dry-run': isRehearsed = false, replaces } = values
      const answer = await ask('POST /api/memory', {
        ...whereOf(values),
        notes: [{ text: args.join(' '), ...defined({ replaces }) }],
        dryRun: isRehearsed,
      })
      print(answer, outcomeOf(answer))
    },
  }),
  edit: verb({
    usage: '<note> <text> … [--deployment]',
    about: 'Puts another text in its place; all else of the note stays.',
    options: isDeployment,
    async run({ args: [note, ...words], request, sent, print }) {
      const body = { text: words.join(' ') }
      const params = { note }
      const changed = await request('POST /api/memory/:note', { params, query: sent(), body })
      print(changed, rowsOf([changed]))
    },
  }),
  forget: verb({
    usage: '[<note>] [--everywhere] [--session <id>] [--all] [--scope <scope>] [--yes]',
    about: 'For good: a note, what came from a session, or all of it.',
    asks: ({ args: [note], values }) =>
      `Forget ${note ?? (values.session ? `what came from ${values.session}` : 'everything')}, for good?`,
    options: forgetting,
    async run({ args: [note], values, print, ...context }) {
      const { all = false, session, everywhere } = values
      const chosen = [note !== undefined, session !== undefined, all].filter(Boolean)
      if (chosen.length !== 1) throw new UsageError('Name a note, --session <id>, or --all.')
      if (everywhere && note === undefined) throw new UsageError('--everywhere goes with a note.')
      const answer: { readonly forgotten: number; readonly sessions?: number | undefined } =
        note === undefined
          ? await context.ask('DELETE /api/memory', { ...whereOf(values), session })
          : await forgetNote(note, values, context)
      const { sessions, forgotten } = answer
      const quoted = sessions === undefined ? '' : ` Taken out of ${sessions} conversations.`
      print(answer, `${forgotten} forgotten.${quoted}`)
    },
  }),
  export: verb({
    usage: scopeUsage,
    about: 'All notes as JSON lines, the oldest first.',
    options: where,
    async run({ values, ask, stdout }) {
      const notes = []
      const pages = pagesOf((after) =>
        ask('GET /api/memory', { ...whereOf(values), limit: 500, after }),
      )
      for await (const page of pages) notes.push(...page.notes)
      // The oldest first: turns come back in the order in which they were said.
      for (const note of notes.toReversed()) stdout.write(`${jsonText(note)}\n`)
    },
  }),
  import: verb({
    usage: `<file> ${scopeUsage} [--dry-run]`,
    about:
      'Notes as JSON lines, such as export writes them. A note that is there already is merged; with ' +
      '`replaces` a note takes the place of that one.',
    options: { ...where, ...dryRun },
    async run({ args: [file], values, ask, print }) {
      const written = readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
      const notes = written.map((line, at) => toNote(line, `${file}, line ${at + 1}`))
      const shared = { ...whereOf(values), dryRun: values['dry-run'] ?? false }
      const answer = { added: [] as Reply<'POST /api/memory'>['added'], evicted: 0 }
      for (let at = 0; at < notes.length; at += maxNotes) {
        const body = { ...shared, notes: notes.slice(at, at + maxNotes) }
        const { added, evicted = 0 } = await ask('POST /api/memory', body)
        answer.added.push(...added)
        answer.evicted += evicted
      }
      print(answer, outcomeOf(answer))
    },
  }),
})
