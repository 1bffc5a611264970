// isola memory …: what agents remember beyond their sessions.
import { readFile } from 'node:fs/promises'
import { defined } from '../../src/contracts/defined.ts'
import type { Client, Reply } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { isDeployment, ofOne, where, whereOf } from './memory-options.ts'
import { jsonText, short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

type Note = Reply<'GET /api/memory/:note'>

const adding = {
  ...where,
  ...dryRun,
} as const satisfies Options

const rowsOf = (notes: readonly Note[]) =>
  notes.length === 0
    ? 'No notes.'
    : table([
        ['id', 'scope', 'changed', 'note'],
        ...notes.map(({ id, scope, agent, updatedAtMs, speaker, text }) => [
          id,
          agent ?? scope,
          time(updatedAtMs),
          short(speaker === undefined ? text : `${speaker}: ${text}`),
        ]),
      ])

async function list({ values, request, print }: Context<ValuesOf<typeof where>>) {
  const page = await request('GET /api/memory', { query: whereOf(values) })
  const more = page.next === undefined ? '' : '\nThere are more: isola memory export has all.'
  print(page, `${rowsOf(page.notes)}${more}`)
}

async function search({ args, values, request, print }: Context<ValuesOf<typeof where>>) {
  const query = { ...whereOf(values), query: args.join(' '), limit: '20' }
  const found = await request('GET /api/memory', { query })
  print(found, rowsOf(found.notes))
}

async function show({
  args: [note],
  values,
  request,
  print,
}: Context<ValuesOf<typeof isDeployment>, [string]>) {
  const shown = await request('GET /api/memory/:note', { params: { note }, query: ofOne(values) })
  const { id, scope, agent, kind, speaker, caption, date, label, origins, differsFrom } = shown
  const lines = [
    `${id} (${kind}, ${agent === undefined ? scope : `agent ${agent}`})`,
    speaker && `by ${speaker}`,
    date && `on ${date}`,
    caption && `[${caption}]`,
    shown.text,
    `written ${time(shown.createdAtMs)}, changed ${time(shown.updatedAtMs)}; ${label.integrity}, ${label.confidentiality}`,
    ...origins.map(
      (one) =>
        `from ${Object.entries(one)
          .map(([name, of]) => `${name} ${of}`)
          .join(', ')}`,
    ),
    differsFrom && `differs from ${differsFrom.join(', ')}`,
  ]
  print(shown, lines.filter(Boolean).join('\n'))
}

const stateOf = ({ added, evicted = 0 }: Reply<'POST /api/memory'>) => {
  const of = (state: string) => added.filter((one) => one.state === state).length
  const gone = evicted > 0 ? `, ${evicted} of the oldest gone` : ''
  const replaced = of('replaced') > 0 ? `, ${of('replaced')} in the place of another` : ''
  return `${of('added')} added, ${of('merged')} merged with what was there${replaced}${gone}.`
}

const addingOne = {
  ...adding,
  replaces: { type: 'string', value: 'note', about: 'the note whose place it takes' },
} as const satisfies Options

async function add({ args, values, request, print }: Context<ValuesOf<typeof addingOne>>) {
  const { 'dry-run': isDry = false, replaces } = values
  const note = { text: args.join(' '), ...defined({ replaces }) }
  const body = { ...whereOf(values), notes: [note], dryRun: isDry }
  const answer = await request('POST /api/memory', { body })
  print(answer, stateOf(answer))
}

async function edit({
  args: [note, ...words],
  values,
  request,
  print,
}: Context<ValuesOf<typeof isDeployment>, [string, ...string[]]>) {
  const body = { text: words.join(' ') }
  const query = ofOne(values)
  const changed = await request('POST /api/memory/:note', { params: { note }, query, body })
  print(changed, rowsOf([changed]))
}

async function forget({
  args: [note],
  values,
  request,
  print,
}: Context<ValuesOf<typeof forgetting>>) {
  const { all = false, session, everywhere } = values
  const chosen = [note !== undefined, session !== undefined, all].filter(Boolean)
  if (chosen.length !== 1) throw new UsageError('Name a note, --session <id>, or --all.')
  if (everywhere && note === undefined) throw new UsageError('--everywhere goes with a note.')
  const query = { ...whereOf(values), ...defined({ session }) }
  const answer =
    note === undefined
      ? await request('DELETE /api/memory', { query })
      : await forgetNote(note, values, request)
  const { sessions } = { sessions: undefined, ...answer }
  const quoted = sessions === undefined ? '' : ` Taken out of ${sessions} conversations.`
  print(answer, `${answer.forgotten} forgotten.${quoted}`)
}

/** Conversations come some at a time, the note goes last. */
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
const forgetting = {
  ...where,
  session: { type: 'string', value: 'id', about: 'what came from this session' },
  all: { type: 'boolean', about: 'everything (of the scope)' },
  everywhere: { type: 'boolean', about: 'also where your conversations quote the note' },
} as const satisfies Options

/** Page by page. */
async function* notesOf(request: Client['request'], query: ReturnType<typeof whereOf>) {
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: Reply<'GET /api/memory'> = await request('GET /api/memory', {
      query: { ...query, limit: '500', ...(after !== '' && { after }) },
    })
    yield* page.notes
    after = page.next
  }
}

async function exportNotes({ values, request, stdout }: Context<ValuesOf<typeof where>>) {
  const notes: Note[] = []
  for await (const note of notesOf(request, whereOf(values))) notes.push(note)
  // The oldest first: turns come back in the order in which they were said.
  for (const note of notes.toReversed()) stdout.write(`${jsonText(note)}\n`)
}

async function importNotes({
  args: [file],
  values,
  request,
  print,
}: Context<ValuesOf<typeof adding>, [string]>) {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '')
  const notes = lines.map((line, at) => toNew(line, `${file}, line ${at + 1}`))
  const all: Reply<'POST /api/memory'>['added'] = []
  let evicted = 0
  for (let at = 0; at < notes.length; at += 200) {
    const body = {
      ...whereOf(values),
      notes: notes.slice(at, at + 200),
      dryRun: values['dry-run'] ?? false,
    }
    const answer = await request('POST /api/memory', { body })
    all.push(...answer.added)
    evicted += answer.evicted ?? 0
  }
  const answer = { added: all, evicted }
  print(answer, stateOf(answer))
}

function toNew(line: string, at: string) {
  let note: Partial<Note> & { readonly replaces?: string }
  try {
    note = JSON.parse(line) as typeof note
  } catch {
    throw new UsageError(`${at}: not JSON.`)
  }
  const { text, kind, speaker, caption, date, conversation, label, replaces } = note
  if (typeof text !== 'string') throw new UsageError(`${at}: has no text.`)
  return {
    text,
    ...defined({ kind, speaker, caption, date, conversation, label, replaces }),
  }
}

export default {
  noun: 'memory',
  verbs: defineVerbs({
    list: {
      usage: 'isola memory list [--scope <scope>] [--agent <id>]',
      about: 'What is remembered for you, newest first; with --scope deployment, for everybody.',
      options: where,
      run: list,
    },
    search: {
      usage: 'isola memory search <words> … [--scope <scope>] [--agent <id>]',
      options: where,
      run: search,
    },
    show: {
      usage: 'isola memory show <note> [--deployment]',
      about: 'A note with where it came from.',
      options: isDeployment,
      run: show,
    },
    add: {
      usage:
        'isola memory add <text> … [--replaces <note>] [--scope <scope>] [--agent <id>] [--dry-run]',
      options: addingOne,
      run: add,
    },
    edit: {
      usage: 'isola memory edit <note> <text> … [--deployment]',
      about: 'Puts another text in its place; all else of the note stays.',
      options: isDeployment,
      run: edit,
    },
    forget: {
      usage:
        'isola memory forget [<note>] [--everywhere] [--session <id>] [--all] [--scope <scope>] [--yes]',
      about: 'For good: a note, what came from a session, or all of it.',
      asks: ({ args: [note], values }: Context<ValuesOf<typeof forgetting>>) =>
        `Forget ${note ?? (values.session ? `what came from ${values.session}` : 'everything')}, for good?`,
      options: forgetting,
      run: forget,
    },
    export: {
      usage: 'isola memory export [--scope <scope>] [--agent <id>]',
      about: 'All notes as JSON lines, the oldest first.',
      options: where,
      run: exportNotes,
    },
    import: {
      usage: 'isola memory import <file> [--scope <scope>] [--agent <id>] [--dry-run]',
      about:
        'Notes as JSON lines, such as export writes them. A note that is there already is merged; with `replaces` a note takes the place of that one.',
      options: adding,
      run: importNotes,
    },
  }),
}
