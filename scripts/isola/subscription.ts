// isola subscription …: work that events begin.
import type { Reply, Request } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { listOptions, pauseOptions } from './schedule-body.ts'
import { dollars, short, table, time } from './text.ts'
import { toNumber } from './to-number.ts'
import { UsageError } from './usage.ts'

type Body = Request<'POST /api/subscriptions'>['body']
type Subscription = Reply<'GET /api/subscriptions/:id'>
type Firing = Reply<'GET /api/subscriptions/:id/history'>['firings'][number]

/** `field=value`, where numbers and yes or no are written as they are in JSON. */
function whereIn(pairs: readonly string[]): Body['where'] {
  const entries = pairs.map((pair): [string, string | number | boolean] => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError('--where is <field>=<value>, such as --where amount=5.')
    const value = pair.slice(at + 1)
    const isJson = /^(true|false|-?\d+(\.\d+)?)$/.test(value)
    return [pair.slice(0, at), isJson ? JSON.parse(value) : value]
  })
  return Object.fromEntries(entries)
}

const texts = ['agent', 'model', 'session', 'name'] as const

function bodyOf([event, task]: [string, string], values: ValuesOf<typeof addOptions>): Body {
  const given = texts.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))
  const { where, everybody, ttl, depth, deliver, 'daily-runs': runs } = values
  return {
    event,
    task,
    ...Object.fromEntries(given),
    ...(where && { where: whereIn(where) }),
    ...(everybody && { of: 'everybody' as const }),
    ...(ttl !== undefined && { ttlMinutes: toNumber('--ttl', ttl) }),
    ...(depth !== undefined && { maxDepth: toNumber('--depth', depth) }),
    ...(runs !== undefined && { daily: { runs: toNumber('--daily-runs', runs) } }),
    // What it may be, the server says.
    ...(deliver !== undefined && { deliver: { to: deliver as 'none' } }),
    ...(values['dry-run'] && { dryRun: true }),
  }
}

const described = (one: Subscription) =>
  [
    `${one.id}  ${one.name}  ${one.state}`,
    `  ${short(one.task, 200)}`,
    `  by ${one.event}${one.where ? ` where ${JSON.stringify(one.where)}` : ''}, of ${one.of === 'own' ? 'your own sessions' : 'everybody'}; run by ${one.agent}`,
    `  at most ${one.maxDepth} runs one after the other, within ${one.ttlMinutes} min of an event`,
    ...(one.paused
      ? [`  paused ${time(one.paused.atMs)} by ${one.paused.by}: ${one.paused.reason}`]
      : []),
    `  today ${one.today.runs} of ${one.daily.runs} runs, ${one.today.tokens} tokens, ${dollars(one.today.costUsd)}`,
  ].join('\n')

async function add({
  args,
  values,
  request,
  print,
}: Context<ValuesOf<typeof addOptions>, [string, string]>) {
  const made = await request('POST /api/subscriptions', { body: bodyOf(args, values) })
  print(made, values['dry-run'] ? `Would be made:\n${described(made)}` : described(made))
}

async function list({ values, request, print }: Context<ValuesOf<typeof listOptions>>) {
  const { all, principal } = values
  if (all && principal !== undefined)
    throw new UsageError('--all and --principal exclude each other.')
  const of = all ? '*' : principal
  const query = of === undefined ? {} : { principal: of }
  const answer = await request('GET /api/subscriptions', { query })
  const head = ['subscription', 'name', 'of', 'state', 'event', 'agent', 'today']
  const rows = answer.subscriptions.map((one) => [
    one.id,
    short(one.name, 40),
    one.owner.replace(/^principal:/, ''),
    one.state,
    one.event,
    one.agent,
    `${one.today.runs} of ${one.daily.runs}`,
  ])
  print(answer, rows.length > 0 ? table([head, ...rows]) : 'No subscriptions.')
}

async function show({ args: [id], request, print }: Context<object, [string]>) {
  const one = await request('GET /api/subscriptions/:id', { params: { id } })
  print(one, described(one))
}

const rowOf = ({ atMs, event, depth, state, tokens, reason, text }: Firing) => [
  time(atMs),
  event?.name ?? '',
  String(depth ?? ''),
  state,
  String(tokens),
  short(reason ?? text ?? '', 80),
]

async function history({
  args: [id],
  values: { limit, dead },
  request,
  print,
}: Context<ValuesOf<typeof historyOptions>, [string]>) {
  const query = {
    ...(limit !== undefined && { limit: toNumber('--limit', limit) }),
    ...(dead && { state: 'failed' as const }),
  }
  const answer = await request('GET /api/subscriptions/:id/history', { params: { id }, query })
  const head = ['heard', 'event', 'depth', 'state', 'tokens', 'what came of it']
  const rows = answer.firings.map(rowOf)
  print(answer, rows.length > 0 ? table([head, ...rows]) : 'Nothing yet.')
}

async function pause({
  args: [id],
  values: { reason },
  request,
  print,
}: Context<ValuesOf<typeof pauseOptions>, [string]>) {
  const body = reason === undefined ? {} : { reason }
  const one = await request('POST /api/subscriptions/:id/pause', { params: { id }, body })
  print(one, described(one))
}

async function resume({ args: [id], request, print }: Context<object, [string]>) {
  const one = await request('POST /api/subscriptions/:id/resume', { params: { id }, body: {} })
  print(one, described(one))
}

async function remove({
  args: [id],
  values,
  request,
  print,
}: Context<ValuesOf<typeof dryRun>, [string]>) {
  if (values['dry-run']) {
    const one = await request('GET /api/subscriptions/:id', { params: { id } })
    return print(one, `Would be removed:\n${described(one)}`)
  }
  const gone = await request('DELETE /api/subscriptions/:id', { params: { id } })
  print(gone, `${id} is removed.`)
}

const addOptions = {
  agent: { type: 'string', value: 'name', about: 'who works; the orchestrator if absent' },
  model: { type: 'string', value: 'name' },
  where: {
    type: 'string',
    multiple: true,
    value: 'field=value',
    about: 'only where this field of the payload is equal; again for another one',
  },
  everybody: { type: 'boolean', about: "events of everybody's sessions; for operators" },
  session: { type: 'string', value: 'name', about: 'all runs in this named session' },
  name: { type: 'string', value: 'name', about: 'what it is called' },
  ttl: { type: 'string', value: 'minutes', about: 'so long after an event; 60 if absent' },
  depth: { type: 'string', value: 'n', about: 'runs one after the other; 4 if absent' },
  'daily-runs': { type: 'string', value: 'n', about: 'so many runs a day; 100 if absent' },
  deliver: { type: 'string', value: 'where', about: 'none, or principal (your notices)' },
  ...dryRun,
} as const satisfies Options
const historyOptions = {
  limit: { type: 'string', value: 'n', about: '1 to 500' },
  dead: { type: 'boolean', about: 'only what was given up' },
} as const satisfies Options

export default {
  noun: 'subscription',
  verbs: defineVerbs({
    add: {
      usage: 'isola subscription add <event> <task> [options]',
      about:
        'Has an agent do a task by each event: a plugin’s (billing.paid, billing.*), or ours (isola.run_finished, …).',
      options: addOptions,
      run: add,
    },
    list: {
      usage: 'isola subscription list [--principal <name> | --all]',
      about: 'Your subscriptions.',
      options: listOptions,
      run: list,
    },
    show: {
      usage: 'isola subscription show <subscription>',
      about: 'All of one.',
      run: show,
    },
    history: {
      usage: 'isola subscription history <subscription> [--limit <n>] [--dead]',
      about: 'What became of each event: done, failed, or skipped and why.',
      options: historyOptions,
      run: history,
    },
    pause: {
      usage: 'isola subscription pause <subscription> [--reason <text>]',
      about: 'What is emitted meanwhile is not heard.',
      options: pauseOptions,
      run: pause,
    },
    resume: {
      usage: 'isola subscription resume <subscription>',
      about: 'It hears again.',
      run: resume,
    },
    remove: {
      usage: 'isola subscription remove <subscription> [--yes] [--dry-run]',
      about: 'Takes it away with its history. What has begun goes on.',
      options: dryRun,
      asks: ({ args: [id] }: Context<object, [string]>) => `Remove ${short(id)} and its history?`,
      run: remove,
    },
  }),
}
