// isola session list|show|export|cancel|delete
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { confirm } from './confirm.ts'
import { compactSession, describeCompaction, describeContext, readContext } from './context.ts'
import { followEvents } from './events.ts'
import { dollars, short, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { wholeTree } from './whole-tree.ts'

const pathOf = (id) => `/api/sessions/${encodeURIComponent(id)}`

/** A session and what hangs below it, indented. */
export function describe(tree, indent = '') {
  const { id, agent, principal, createdAtMs, runs, usage, costEstimateUsd, children } = tree
  const tokens = usage.inputTokens + usage.outputTokens
  const cost = costEstimateUsd === undefined ? '' : `, ${dollars(costEstimateUsd)}`
  return [
    `${indent}${id}  ${agent}${principal === undefined ? '' : `  of ${principal}`}  since ${time(createdAtMs)}${Number.isFinite(tokens) ? `  ${tokens} tokens${cost}` : ''}`,
    ...runs.map(({ id: run, state, result, pauses = [] }) => {
      const waits = pauses.map(
        ({ call, tool, kind, input, reached }) =>
          reached?.message ?? `${kind} of ${tool} (${call}): ${short(input, 60)}`,
      )
      const said = result?.error?.message ?? result?.result ?? waits.join('; ')
      return `${indent}  ${run}  ${state}${said ? `  ${short(said, 100)}` : ''}`
    }),
    ...children.map((child) => describe(child, `${indent}    `)),
  ].join('\n')
}

async function showContext({ args: [id], request, print }) {
  const view = await readContext(request, id)
  print(view, describeContext(view))
}

async function compact({ args: [id], values: { model }, request, print }) {
  const made = await compactSession(request, id, model && { model })
  print(made, describeCompaction(made))
}

/** Every session of a tree, the root first. */
const flatten = (tree) => [tree, ...tree.children.flatMap(flatten)]

const filters = ['principal', 'agent', 'state', 'limit', 'after']

/** What a list holds; whose it is only where there may be several. */
function listed({ sessions, next }, withPrincipal) {
  if (sessions.length === 0) return 'No sessions.'
  const columns = [
    ['session', ({ id }) => id],
    ['agent', ({ agent }) => agent ?? ''],
    ...(withPrincipal ? [['principal', ({ principal }) => principal]] : []),
    ['runs', ({ runs }) => String(runs)],
    ['last run', ({ state }) => state ?? ''],
    ['made', ({ createdAtMs }) => time(createdAtMs)],
    ['used', ({ usedAtMs }) => time(usedAtMs)],
  ]
  const head = columns.map(([name]) => name)
  const rows = sessions.map((session) => columns.map(([, cellOf]) => cellOf(session)))
  const more = next === undefined ? '' : `\nMore: --after ${next}`
  return table([head, ...rows]) + more
}

async function list({ values, request, print }) {
  const { all, principal, stateless } = values
  if (all && principal !== undefined)
    throw new UsageError('--all and --principal exclude each other.')
  const query = new URLSearchParams(
    filters.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  )
  if (all) query.set('principal', '*')
  if (stateless) query.set('stateless', 'true')
  const answer = await request(`/api/sessions?${query}`)
  print(answer, listed(answer, all === true || principal !== undefined))
}

async function show({ args: [id], request, print }) {
  const tree = await wholeTree(request, id)
  print(tree, describe(tree))
}

async function writeLines(target, lines) {
  for await (const line of lines) {
    if (!target.write(`${JSON.stringify(line)}\n`)) await once(target, 'drain')
  }
}

/** Everything that was said in a session, a page at a time. */
async function* saidIn(request, session) {
  for (let after = ''; after !== undefined;) {
    const query = after === '' ? '' : `?after=${after}`
    const { messages, next } = await request(`${pathOf(session)}/transcript${query}`)
    yield* messages
    after = next
  }
}

/** The lines of an export: what each is says `kind`, whose it is `session`. */
async function* exportLines(connect, request, { id, isDeep }) {
  const tree = await wholeTree(request, id)
  yield { kind: 'tree', session: id, value: tree }
  for (const { id: session } of isDeep ? flatten(tree) : [tree]) {
    for await (const value of saidIn(request, session)) yield { kind: 'message', session, value }
    const stored = followEvents(connect(), session, { follow: false, cursor: { seq: 0 } })
    for await (const value of stored) {
      if (value.seq !== undefined) yield { kind: 'event', session, value }
    }
  }
}

/** Why a file could not be made, and what to do. */
function whyNotWritten(path, { code, message }) {
  const folder = dirname(path)
  switch (code) {
    case 'EEXIST':
      return `${path} is there already (--force replaces it).`
    case 'ENOENT':
      return `--out ${path}: there is no folder ${folder}. Make it (mkdir -p ${folder}), or name another.`
    case 'ENOTDIR':
      return `--out ${path}: ${folder} is no folder. Name another.`
    case 'EISDIR':
      return `--out ${path} is a folder. Name a file in it.`
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `--out ${path}: you may not write there (${code}). Name a folder of yours.`
    default:
      return `--out ${path} cannot be written: ${message}`
  }
}

async function exportSession({ args: [id], values, connect, request, stdout }) {
  const lines = exportLines(connect, request, { id, isDeep: values.children === true })
  if (values.out === undefined) return writeLines(stdout, lines)
  // A conversation is private: its file is its owner's.
  const file = createWriteStream(values.out, { flags: values.force ? 'w' : 'wx', mode: 0o600 })
  await once(file, 'open').catch((error) => {
    throw new Error(whyNotWritten(values.out, error), { cause: error })
  })
  try {
    await writeLines(file, lines)
  } finally {
    file.end()
    await once(file, 'close')
  }
}

const isOver = ({ state }) => !['queued', 'running', 'parked'].includes(state)

async function cancel({ args: [id, only], values, request, print }) {
  const all = flatten(await wholeTree(request, id)).flatMap(({ id: session, runs }) =>
    runs.map((run) => ({ ...run, session })),
  )
  // What works in the background outlives the run that started it: each is stopped where it is.
  const named = only !== undefined && (all.find((run) => run.id === only) ?? { id: only })
  const meant = named ? [named] : all.filter((run) => !isOver(run))
  const json = values.reason === undefined ? {} : { reason: values.reason }
  const views = []
  for (const { id: run, session = id } of meant)
    views.push(
      await request(`${pathOf(session)}/runs/${encodeURIComponent(run)}/cancel`, {
        method: 'POST',
        json,
      }),
    )
  const lines = views.map(({ id: run, state }) => `${run}  ${state}`)
  print(views, lines.length > 0 ? lines.join('\n') : 'Nothing runs or waits in it.')
}

async function remove(context) {
  const { args, values, request, print, stdin } = context
  const [id] = args
  if (!values.yes) {
    if (!stdin.isTTY) throw new UsageError('Without a terminal to ask on, --yes is needed.')
    if (!(await confirm(`Delete ${short(id)}, its sub-agents and all they said?`, context)))
      return 1
  }
  const gone = await request(pathOf(id), { method: 'DELETE' })
  print(gone, `${id} is deleted.`)
}

export default {
  noun: 'session',
  verbs: {
    list: {
      usage:
        'isola session list [--agent <name>] [--state <state>] [--stateless] [--principal <name> | --all] [--limit <n>] [--after <next>]',
      about:
        "Your sessions, newest first, a moment after what happened in them. Those of sub-agents are in their parent's tree.",
      options: {
        agent: { type: 'string', value: 'name', about: 'with this agent' },
        state: { type: 'string', about: 'of the last run: running, parked, completed, …' },
        stateless: {
          type: 'boolean',
          about: 'calls that nobody named too; they are gone in an hour',
        },
        principal: {
          type: 'string',
          value: 'name',
          about: "another principal's; for operators and auditors",
        },
        all: { type: 'boolean', about: "everybody's; for operators and auditors" },
        limit: { type: 'string', value: 'n', about: '1 to 500' },
        after: { type: 'string', value: 'next', about: 'go on where the last list ended' },
      },
      run: list,
    },
    show: {
      usage: 'isola session show <session>',
      about: 'The session, its runs and its sub-agents, with usage and cost.',
      run: show,
    },
    context: {
      usage: 'isola session context <session>',
      about:
        'What fills the window of its model: instructions, tools, each kind of message, with tokens, and what the next request costs.',
      run: showContext,
    },
    compact: {
      usage: 'isola session compact <session> [--model <name>]',
      about:
        'Makes room in its window: a summary stands for what was said before. Nothing is lost; refused while a run is not over.',
      options: { model: { type: 'string', value: 'name', about: 'that writes the summary' } },
      run: compact,
    },
    export: {
      usage: 'isola session export <session> [--children] [--out <file>] [--force]',
      about:
        'Tree, transcript and events as JSON lines: { kind: tree | message | event, session, value }.',
      options: {
        children: { type: 'boolean', about: "the sub-agents' sessions too" },
        out: { type: 'string', value: 'file', about: 'instead of the standard output' },
        force: { type: 'boolean', about: 'replace the file if it is there' },
      },
      run: exportSession,
    },
    cancel: {
      usage: 'isola session cancel <session> [<run>] [--reason <text>]',
      about:
        'Stops a run, or all that run or wait in it, sub-agents included. What ended stays as it ended.',
      options: {
        reason: { type: 'string', value: 'text', about: 'told to whoever reads the run' },
      },
      run: cancel,
    },
    delete: {
      usage: 'isola session delete <session> [--yes]',
      about: 'Cancels what runs and deletes the session with its sub-agents.',
      options: { yes: { type: 'boolean', short: 'y', about: 'do not ask' } },
      run: remove,
    },
  },
}
