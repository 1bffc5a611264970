// isola run …: runs, by their ids alone; with --given-up those that were given up after too many interruptions.
import { defined } from '../../src/contracts/defined.ts'
import { ApiError, type Client, type Reply, type Request } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import {
  limitNames,
  limitOptions,
  limitsOf,
  limitUsage,
  type LimitValues,
} from './limit-options.ts'
import { waitsCode } from './outcome.ts'
import { dollars, short, shown, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { toldWaiting, waitingOf, waitingOfRun } from './waiting.ts'
import { describe } from './session.ts'
import { childrenOf, wholeTree, type Tree } from './whole-tree.ts'

type RunsQuery = NonNullable<Request<'GET /api/runs'>['query']>
type State = NonNullable<Request<'GET /api/operator/runs'>['query']>['state']
type View = Reply<'GET /api/runs/:run'>

const listOptions = {
  'given-up': {
    type: 'boolean',
    about: 'instead: runs that were given up after too many interruptions (operators)',
  },
  principal: {
    type: 'string',
    value: 'name',
    about: 'those of somebody else, or * (operators, auditors)',
  },
  agent: { type: 'string', value: 'name', about: 'with this agent' },
  state: {
    type: 'string',
    about: 'running, parked, completed …; with --given-up open (unless named), retried or dropped',
  },
  limit: { type: 'string', value: 'n', about: '1 to 20; with --given-up to 500' },
  after: { type: 'string', value: 'next', about: 'go on where the last list ended' },
} as const satisfies Options

async function list(context: Context<ValuesOf<typeof listOptions>>) {
  const { values, request, print } = context
  const { state, limit, principal, agent, after } = values
  if (values['given-up']) return listGivenUp(context)
  // What a state may be, the server says.
  const query = defined({ state, limit, principal, agent, after })
  const answer = await request('GET /api/runs', { query: query as RunsQuery })
  const rows = answer.runs.map((run) => [
    run.id,
    run.session,
    run.agent,
    ...(principal ? [run.principal] : []),
    run.state,
    time(run.startedAtMs),
    run.usage ? String(run.usage.inputTokens + run.usage.outputTokens) : '',
  ])
  const whose = principal ? ['principal'] : []
  const head = ['run', 'session', 'agent', ...whose, 'state', 'begun', 'tokens']
  const more = answer.next === undefined ? '' : `\nMore: --after ${answer.next}`
  const how = '\n\nThe last run of each session. isola run show|cancel <run> shows or ends one.'
  print(answer, rows.length === 0 ? 'No runs.' : table([head, ...rows]) + more + how)
}

async function listGivenUp({ values, request, print }: Context<ValuesOf<typeof listOptions>>) {
  const { state, limit } = values
  const other = (['principal', 'agent', 'after'] as const).find(
    (name) => values[name] !== undefined,
  )
  if (other) throw new UsageError(`--${other} is not of --given-up.`)
  // Whether it is one, the server says.
  const query = { ...(state && { state: state as State }), ...(limit && { limit }) }
  const answer = await request('GET /api/operator/runs', { query })
  const rows = answer.runs.map((row) => [
    row.run,
    row.session,
    row.agent,
    row.state,
    time(row.atMs),
  ])
  const head = ['run', 'session', 'agent', 'state', 'given up']
  print(answer, rows.length === 0 ? 'No run was given up.' : table([head, ...rows]))
}

const codeOf = (error: unknown) => (error instanceof ApiError ? error.status : undefined)

/** A run by its id alone, or in a session that was named: one that the record has no more is found there. */
function read(request: Client['request'], run: string, session?: string): Promise<View> {
  return session === undefined
    ? request('GET /api/runs/:run', { params: { run } })
    : request('GET /api/sessions/:id/runs/:run', { params: { id: session, run } })
}

/** The arguments of a verb that takes a run alone, or a session and its run. */
const named = ([first, second]: readonly [string, string?]) =>
  second === undefined ? { run: first } : { session: first, run: second }

/** What it spent, of its result; while it works, of its session. */
const spentText = ({ result }: View) => {
  if (!result) return ''
  const { inputTokens, outputTokens } = result.usage
  return `${dollars(result.costEstimateUsd)}, ${inputTokens + outputTokens} tokens (${inputTokens} in, ${outputTokens} out), ${result.steps} turns`
}

function described(view: View, tree: Tree | undefined) {
  const { id, session, agent, state, createdAtMs, result } = view
  const { error, finishedAtMs } = result ?? {}
  const fields = [
    ['run', id],
    ['session', session],
    ['agent', agent],
    ['principal', tree?.principal],
    ['state', state],
    ['error', error && `${error.code}: ${error.message}`],
    ['begun', time(createdAtMs)],
    ['ended', time(finishedAtMs)],
    ['cost', spentText(view)],
    ['trace', result?.trace],
    ['answer', short(result?.result ?? '', 400)],
  ].filter((field): field is [string, string] => Boolean(field[1]))
  const lines = fields.map(([name, value]) => `${name.padEnd(9)}  ${value}`)
  const below = childrenOf(tree, id)
  const waiting = [...waitingOfRun(session, view), ...below.flatMap((child) => waitingOf(child))]
  return [
    ...lines,
    ...(below.length > 0 ? ['sub-agents', ...below.map((child) => describe(child, '  '))] : []),
    ...(waiting.length > 0 ? [toldWaiting(waiting)] : []),
  ].join('\n')
}

async function show({ args, request, print }: Context<object, [string, string?]>) {
  const { run, session } = named(args)
  let view: View
  try {
    view = await read(request, run, session)
  } catch (error) {
    // Of one that was given up the list may know what no session has any more.
    const given =
      codeOf(error) === 404 && session === undefined ? await givenUp(request, run) : undefined
    if (!given) throw error
    return print(given, givenUpText(given))
  }
  const tree = await wholeTree(request, view.session).catch((error: unknown) => {
    if (codeOf(error) === 404) return undefined
    throw error
  })
  print({ ...view, children: childrenOf(tree, view.id) }, shown(described(view, tree)))
}

type GivenUp = Reply<'GET /api/operator/runs/:run'>

const givenUp = (request: Client['request'], run: string) =>
  request('GET /api/operator/runs/:run', { params: { run } }).catch((error: unknown) => {
    const status = codeOf(error)
    if (status === 403 || status === 404) return undefined
    throw error
  })

function givenUpText({ view, ...rest }: GivenUp) {
  const fields = Object.entries({
    ...rest,
    'state of the run': view?.state ?? 'the session is gone',
  })
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}  ${name.endsWith('AtMs') || name === 'atMs' ? time(value) : short(value)}`,
    )
    .join('\n')
}

/** Says where to look, where the run is not one that was given up. */
const ofGivenUp = async <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    if (codeOf(error) !== 404) throw error
    const { message } = error as ApiError
    throw new Error(`${message} isola run list --given-up has those that retry and drop take.`, {
      cause: error,
    })
  })

async function retry({ args: [run], request, print }: Context<object, [string]>) {
  const receipt = await ofGivenUp(
    request('POST /api/operator/runs/:run/retry', { params: { run } }),
  )
  print(receipt, `Started again as ${receipt.run} of ${receipt.session}.`)
}

async function drop({ args: [run], request, print }: Context<object, [string]>) {
  const row = await ofGivenUp(request('POST /api/operator/runs/:run/drop', { params: { run } }))
  print(row, `${run} is off the list.`)
}

const cancelOptions = {
  reason: { type: 'string', value: 'text', about: 'told to whoever reads the run' },
  ...dryRun,
} as const satisfies Options

async function cancel({
  args,
  values,
  request,
  print,
}: Context<ValuesOf<typeof cancelOptions>, [string, string?]>) {
  const asked = named(args)
  const found = await read(request, asked.run, asked.session)
  if (values['dry-run'])
    return print(found, `Would be cancelled:\n${found.id}  ${found.state}  of ${found.session}`)
  const { reason } = values
  const view = await request('POST /api/sessions/:id/runs/:run/cancel', {
    params: { id: found.session, run: found.id },
    body: reason === undefined ? {} : { reason },
  })
  print(view, `${view.id}  ${view.state}`)
}

async function raise({ args, values, request, print }: Context<LimitValues, [string, string?]>) {
  const body = limitsOf(values)
  if (!body) throw new UsageError(`Name a limit: --${limitNames.join(', --')}.`)
  const { run, session } = named(args)
  const id = session ?? (await read(request, run)).session
  const params = { id, run }
  const view = await request('POST /api/sessions/:id/runs/:run/limits', { params, body })
  const still = view.pauses?.find(({ kind }) => kind === 'budget')
  const waits = still ? `${short(run)} still waits: ${still.reached?.message}` : ''
  print(view, waits || `${run} has its new limits; it is ${view.state}.`)
  return still ? waitsCode : 0
}

export default {
  noun: 'run',
  verbs: defineVerbs({
    list: {
      usage:
        'isola run list [--given-up] [--agent <name>] [--principal <name>] [--state <state>] [--limit <n>] [--after <next>]',
      about:
        'Your runs, the last of each session: those under way first. --given-up: those that need somebody to retry or drop them.',
      options: listOptions,
      run: list,
    },
    show: {
      usage: 'isola run show [<session>] <run>',
      about: 'Any run of yours: state, error, cost, sub-agents, and what it waits for.',
      run: show,
    },
    cancel: {
      usage: 'isola run cancel [<session>] <run> [--reason <text>] [--dry-run]',
      about: 'Stops it, sub-agents included. One that ended stays as it ended.',
      options: cancelOptions,
      run: cancel,
    },
    raise: {
      usage: `isola run raise [<session>] <run> ${limitUsage}`,
      about:
        'What the run may spend from now on, in all; one that waits at a limit goes on. Lower is possible too.',
      options: limitOptions,
      run: raise,
    },
    retry: {
      usage: 'isola run retry <run>',
      about: 'Of one that was given up: starts its task again. Repeated, it names the same run.',
      run: retry,
    },
    drop: {
      usage: 'isola run drop <run> [--yes]',
      about: 'Of one that was given up: takes it off the list.',
      asks: ({ args: [run] }: Context<object, [string]>) => `Take ${short(run)} off the list?`,
      run: drop,
    },
  }),
}
