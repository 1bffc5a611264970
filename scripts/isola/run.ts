// isola run list|show|retry|drop: runs that were given up after too many interruptions; raise: what a run may spend.
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

type RunsQuery = NonNullable<Request<'GET /api/runs'>['query']>
type State = NonNullable<Request<'GET /api/operator/runs'>['query']>['state']

const listOptions = {
  mine: { type: 'boolean', about: 'your own runs: those under way first, then the latest' },
  principal: {
    type: 'string',
    value: 'name',
    about: 'the same of somebody else, or * (operators)',
  },
  state: {
    type: 'string',
    about: 'open (unless named), retried or dropped; of --mine running, parked, completed …',
  },
  limit: { type: 'string', value: 'n', about: '1 to 500; of --mine to 20' },
} as const

/** Runs as sessions have them, with how to follow and how to end one. */
async function listMine({ values, request, print }: Context<ValuesOf<typeof listOptions>>) {
  const { state, limit, principal } = values
  // What a state may be, the server says.
  const query = {
    ...(state && { state }),
    ...(limit && { limit }),
    ...(principal && { principal }),
  }
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
  const how = '\n\nisola session show|cancel <session> shows or ends one.'
  print(answer, rows.length === 0 ? 'No runs.' : table([head, ...rows]) + how)
}

async function list(context: Context<ValuesOf<typeof listOptions>>) {
  const { values, request, print } = context
  const { state, limit, mine, principal } = values
  if (mine || principal !== undefined) return listMine(context)
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
  print(answer, rows.length === 0 ? 'No such runs.' : table([head, ...rows]))
}

async function show({ args: [run], request, print }: Context<object, [string]>) {
  const row = await request('GET /api/operator/runs/:run', { params: { run } })
  const { view, ...rest } = row
  const fields = Object.entries({
    ...rest,
    'state of the run': view?.state ?? 'the session is gone',
  })
  const width = Math.max(...fields.map(([name]) => name.length))
  const text = fields.map(([name, value]) => {
    return `${name.padEnd(width)}  ${name.endsWith('AtMs') || name === 'atMs' ? time(value) : short(value)}`
  })
  print(row, text.join('\n'))
}

async function retry({ args: [run], request, print }: Context<object, [string]>) {
  const receipt = await request('POST /api/operator/runs/:run/retry', { params: { run } })
  print(receipt, `Started again as ${receipt.run} of ${receipt.session}.`)
}

async function drop({ args: [run], request, print }: Context<object, [string]>) {
  const row = await request('POST /api/operator/runs/:run/drop', { params: { run } })
  print(row, `${run} is off the list.`)
}

/** The options of `raise`, each with the limit that it names. */
const limitOptions = {
  tokens: ['maxTokens', 'n', 'tokens of all model calls together'],
  cost: ['maxCostUsd', 'usd', 'US dollars'],
  platform: ['maxPlatformUsd', 'usd', 'US dollars of what the platform itself costs'],
  time: ['maxTimeMs', 'ms', 'milliseconds at work; waiting does not count'],
  turns: ['maxTurns', 'n', 'turns'],
  calls: ['maxToolCalls', 'n', 'tool calls'],
  children: ['maxChildren', 'n', 'sub-agents'],
  depth: ['maxDepth', 'n', 'levels of sub-agents, at most 16'],
  concurrency: ['maxConcurrency', 'n', 'calls side by side, at most 64'],
} as const

// The names are those of the limits.
const raiseOptions = Object.fromEntries(
  Object.entries(limitOptions).map(([option, [, value, about]]) => [
    option,
    { type: 'string', value, about },
  ]),
) as { readonly [Name in keyof typeof limitOptions]: { readonly type: 'string' } } & Options
type RaiseValues = { readonly [Name in keyof typeof limitOptions]?: string | undefined }

async function raise({
  args: [session, run],
  values,
  request,
  print,
}: Context<RaiseValues, [string, string]>) {
  const given = Object.entries(limitOptions).flatMap(([option, [limit]]) => {
    const text = values[option as keyof typeof limitOptions]?.trim()
    return text === undefined ? [] : [{ option, limit, text }]
  })
  if (given.length === 0)
    throw new UsageError(`Name a limit: --${Object.keys(limitOptions).join(', --')}.`)
  const body = Object.fromEntries(
    given.map(({ option, limit, text }) => {
      if (text === '' || !Number.isFinite(Number(text)))
        throw new UsageError(`--${option} must be a number, such as 40.`)
      return [limit, Number(text)]
    }),
  )
  const params = { id: session, run }
  const view = await request('POST /api/sessions/:id/runs/:run/limits', { params, body })
  const still = view.pauses?.find(({ kind }) => kind === 'budget')
  const waits = still ? `${short(run)} still waits: ${still.reached?.message}` : ''
  print(view, waits || `${run} has its new limits; it is ${view.state}.`)
}

export default {
  noun: 'run',
  verbs: defineVerbs({
    list: {
      usage: 'isola run list [--mine] [--principal <name>] [--state <state>] [--limit <n>]',
      about: 'Runs that were given up after too many interruptions; with --mine your own.',
      options: listOptions,
      run: list,
    },
    show: {
      usage: 'isola run show <run>',
      about: 'One of them, as its session shows it.',
      run: show,
    },
    retry: {
      usage: 'isola run retry <run>',
      about: 'Starts its task again as a new run. Repeated, it names the same one.',
      run: retry,
    },
    raise: {
      usage:
        'isola run raise <session> <run> [--tokens <n>] [--cost <usd>] [--platform <usd>] [--time <ms>] [--turns <n>] [--calls <n>] [--children <n>] [--depth <n>] [--concurrency <n>]',
      about:
        'What the run may spend from now on, in all; one that waits at a limit goes on. Lower is possible too.',
      options: raiseOptions,
      run: raise,
    },
    drop: {
      usage: 'isola run drop <run> [--yes]',
      about: 'Takes it off the list.',
      asks: ({ args: [run] }: Context<object, [string]>) => `Take ${short(run)} off the list?`,
      run: drop,
    },
  }),
}
