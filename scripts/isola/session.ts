// isola session list|show|export|cancel|delete
import type { Client, Reply, Request } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { compactSession, describeCompaction, describeContext, readContext } from './context.ts'
import { dollars, short, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { exportOptions, exportSession } from './session-export.ts'
import { flatten, wholeTree, type Tree } from './whole-tree.ts'

type ListQuery = NonNullable<Request<'GET /api/sessions'>['query']>

type Floor = Reply<'POST /api/sessions/:id/reclaim'>

/** Who has the conversation, or had it last. */
function describeFloor({ holder, state, reason, ...floor }: Floor): string {
  const { messages, maxMessages, tokens, costUsd, untilMs, endedAtMs = 0 } = floor
  const took = `${messages} of ${maxMessages} messages, ${tokens} tokens, ${dollars(costUsd)}`
  return state === 'held'
    ? `${holder} has the conversation until ${time(untilMs)} (${took})`
    : `${holder} had the conversation until ${time(endedAtMs)}: ${reason} (${took})`
}

async function reclaim({ args: [id], request, print }: Context<object, [string]>) {
  const floor = await request('POST /api/sessions/:id/reclaim', { params: { id } })
  print(floor, describeFloor(floor))
}

/** A session and what hangs below it, indented. */
export function describe(tree: Tree, indent = ''): string {
  const { id, agent, principal, createdAtMs, runs, floor, usage, costEstimateUsd, children } = tree
  const tokens = usage.inputTokens + usage.outputTokens
  const cost = costEstimateUsd === undefined ? '' : `, ${dollars(costEstimateUsd)}`
  return [
    `${indent}${id}  ${agent}${principal === undefined ? '' : `  of ${principal}`}  since ${time(createdAtMs)}${Number.isFinite(tokens) ? `  ${tokens} tokens${cost}` : ''}`,
    ...(floor ? [`${indent}  ${describeFloor(floor)}`] : []),
    ...runs.map(({ id: run, state, result, pauses = [] }) => {
      const { error } = result ?? {}
      const waits = pauses.map(
        ({ call, tool, kind, input, reached }) =>
          reached?.message ?? `${kind} of ${tool} (${call}): ${short(input, 60)}`,
      )
      // A reason is whole; what it said is in the transcript.
      const why = error ? `${error.code}: ${error.message}` : waits.join('; ')
      const said = why === '' ? short(result?.result ?? '', 100) : short(why, Infinity)
      return `${indent}  ${run}  ${state}${said ? `  ${said}` : ''}`
    }),
    ...children.map((child) => describe(child, `${indent}    `)),
  ].join('\n')
}

async function showContext({ args: [id], request, print }: Context<object, [string]>) {
  const view = await readContext(request, id)
  print(view, describeContext(view))
}

async function compact({
  args: [id],
  values: { model },
  request,
  print,
}: Context<{ readonly model?: string | undefined }, [string]>) {
  const made = await compactSession(request, id, model)
  print(made, describeCompaction(made))
}

const filters = ['principal', 'agent', 'state', 'limit', 'after'] as const

/** What a list holds; whose it is only where there may be several. */
type Listing = Reply<'GET /api/sessions'>
type Column = readonly [string, (session: Listing['sessions'][number]) => string]

function listed({ sessions, next }: Listing, withPrincipal: boolean) {
  if (sessions.length === 0) return 'No sessions.'
  const columns: readonly Column[] = [
    ['session', ({ id }) => id],
    ['agent', ({ agent }) => agent ?? ''],
    ...(withPrincipal ? [['principal', ({ principal }) => principal] satisfies Column] : []),
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

async function list({ values, request, print }: Context<ValuesOf<typeof listOptions>>) {
  const { all, principal, stateless } = values
  if (all && principal !== undefined)
    throw new UsageError('--all and --principal exclude each other.')
  const given = filters.flatMap((name) =>
    values[name] === undefined ? [] : [[name, values[name]]],
  )
  // What a state may be, the server says.
  const query: ListQuery = {
    ...(Object.fromEntries(given) as ListQuery),
    ...(all && { principal: '*' }),
    ...(stateless && { stateless: 'true' }),
  }
  const answer = await request('GET /api/sessions', { query })
  print(answer, listed(answer, all === true || principal !== undefined))
}

async function show({ args: [id], request, print }: Context<object, [string]>) {
  const tree = await wholeTree(request, id)
  print(tree, describe(tree))
}

const isOver = ({ state }: { readonly state: string }) =>
  !['queued', 'running', 'parked'].includes(state)

/** The runs that a cancel means, each with its session. */
async function toCancel(request: Client['request'], id: string, only: string | undefined) {
  const all = flatten(await wholeTree(request, id)).flatMap(({ id: session, runs }) =>
    runs.map(({ id: run, state }) => ({ run, state, session })),
  )
  // What works in the background outlives the run that started it: each is stopped where it is.
  if (only === undefined) return all.filter((one) => !isOver(one))
  return [all.find(({ run }) => run === only) ?? { run: only, state: 'not in it', session: id }]
}

async function cancel({
  args: [id, only],
  values,
  request,
  print,
}: Context<ValuesOf<typeof cancelOptions>, [string, string?]>) {
  const meant = await toCancel(request, id, only)
  const nothing = 'Nothing runs or waits in it.'
  if (values['dry-run']) {
    const lines = meant.map(({ run, state, session }) => `${run}  ${state}  of ${session}`)
    return print(meant, meant.length > 0 ? ['Would be cancelled:', ...lines].join('\n') : nothing)
  }
  const { reason } = values
  const body = reason === undefined ? {} : { reason }
  const views = []
  for (const { run, session } of meant) {
    const params = { id: session, run }
    views.push(await request('POST /api/sessions/:id/runs/:run/cancel', { params, body }))
  }
  const lines = views.map(({ id: run, state }) => `${run}  ${state}`)
  print(views, lines.length > 0 ? lines.join('\n') : nothing)
}

async function remove({
  args: [id],
  values,
  request,
  print,
}: Context<ValuesOf<typeof dryRun>, [string]>) {
  if (values['dry-run']) {
    const tree = await wholeTree(request, id)
    return print(tree, `Would be deleted:\n${describe(tree)}`)
  }
  const gone = await request('DELETE /api/sessions/:id', { params: { id } })
  print(gone, `${id} is deleted.`)
}

const listOptions = {
  agent: { type: 'string', value: 'name', about: 'with this agent' },
  state: { type: 'string', about: 'of the last run: running, parked, completed, …' },
  stateless: { type: 'boolean', about: 'calls that nobody named too; they are gone in an hour' },
  principal: {
    type: 'string',
    value: 'name',
    about: "another principal's; for operators and auditors",
  },
  all: { type: 'boolean', about: "everybody's; for operators and auditors" },
  limit: { type: 'string', value: 'n', about: '1 to 500' },
  after: { type: 'string', value: 'next', about: 'go on where the last list ended' },
} as const satisfies Options
const cancelOptions = {
  reason: { type: 'string', value: 'text', about: 'told to whoever reads the run' },
  ...dryRun,
} as const satisfies Options

export default {
  noun: 'session',
  verbs: defineVerbs({
    list: {
      usage:
        'isola session list [--agent <name>] [--state <state>] [--stateless] [--principal <name> | --all] [--limit <n>] [--after <next>]',
      about:
        "Your sessions, newest first, a moment after what happened in them. Those of sub-agents are in their parent's tree.",
      options: listOptions,
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
      options: exportOptions,
      run: exportSession,
    },
    cancel: {
      usage: 'isola session cancel <session> [<run>] [--reason <text>] [--dry-run]',
      about:
        'Stops a run, or all that run or wait in it, sub-agents included. What ended stays as it ended.',
      options: cancelOptions,
      run: cancel,
    },
    reclaim: {
      usage: 'isola session reclaim <session>',
      about:
        'Takes the conversation back from the agent that it was handed to; what it is doing is cancelled.',
      run: reclaim,
    },
    delete: {
      usage: 'isola session delete <session> [--yes] [--dry-run]',
      about: 'Cancels what runs and deletes the session with its sub-agents.',
      options: dryRun,
      asks: ({ args: [id] }: Context<object, [string]>) =>
        `Delete ${short(id)}, its sub-agents and all they said?`,
      run: remove,
    },
  }),
}
