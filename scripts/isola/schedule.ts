// isola schedule …: work that begins by the clock.
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { described, rowOf, slotsOf, whenOf } from './schedule-text.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

type Body = Request<'POST /api/schedules'>['body']

function whenIn({ cron, zone, every, at = [] }: ValuesOf<typeof addOptions>): Body['when'] {
  const given = [cron, every, at[0]].filter((one) => one !== undefined)
  if (given.length > 1) throw new UsageError('--cron, --every and --at exclude each other.')
  if (zone !== undefined && cron === undefined) throw new UsageError('--zone goes with --cron.')
  if (cron !== undefined) return { cron, ...(zone !== undefined && { timeZone: zone }) }
  if (every !== undefined) return { everyMinutes: toNumber('every', every) }
  return at.length > 0 ? { at: [...at] } : undefined
}

function toNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`--${name} is a whole number, not ${short(text, 40)}.`)
}

function deliverIn(text: string): Body['deliver'] {
  if (text === 'none' || text === 'principal') return { to: text }
  if (text.startsWith('ses_')) return { to: 'session', session: text }
  if (text.startsWith('https://')) return { to: 'webhook', url: text }
  throw new UsageError('--deliver is none, principal, the id of a session or an https address.')
}

function inputIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError('--input is a JSON object, such as {"key":"a"}.')
  }
}

const texts = ['name', 'agent', 'model', 'tool', 'plugin'] as const

function bodyOf(task: string | undefined, values: ValuesOf<typeof addOptions>): Body {
  const given = texts.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))
  const { input, check, deliver, jitter, failures } = values
  const { 'catch-up': catchUp, overlap, 'not-after': notAfter, 'daily-runs': runs } = values
  const when = whenIn(values)
  return {
    ...Object.fromEntries(given),
    ...(task !== undefined && { task }),
    ...(when && { when }),
    ...(input !== undefined && { input: inputIn(input) }),
    ...(check !== undefined && { check: { tool: check } }),
    // What these may be, the server says.
    ...(catchUp !== undefined && { catchUp: catchUp as 'once' }),
    ...(overlap !== undefined && { overlap: overlap as 'skip' }),
    ...(notAfter !== undefined && { notAfterMinutes: toNumber('not-after', notAfter) }),
    ...(jitter !== undefined && { jitterSeconds: toNumber('jitter', jitter) }),
    ...(failures !== undefined && { stopAfterFailures: toNumber('failures', failures) }),
    ...(runs !== undefined && { daily: { runs: toNumber('daily-runs', runs) } }),
    ...(deliver !== undefined && { deliver: deliverIn(deliver) }),
    ...(values['dry-run'] && { dryRun: true }),
  }
}

async function add({
  args: [task],
  values,
  request,
  print,
}: Context<ValuesOf<typeof addOptions>, [string?]>) {
  const body = bodyOf(task, values)
  const made = await request('POST /api/schedules', { body })
  if (!values['dry-run']) return print(made, described(made))
  print(made, ['Would be made, and due at:', ...slotsOf(made)].join('\n'))
}

async function list({ values, request, print }: Context<ValuesOf<typeof listOptions>>) {
  const { all, principal } = values
  if (all && principal !== undefined)
    throw new UsageError('--all and --principal exclude each other.')
  const of = all ? '*' : principal
  const query = of === undefined ? {} : { principal: of }
  const answer = await request('GET /api/schedules', { query })
  const head = ['schedule', 'name', 'of', 'state', 'when', 'next']
  const rows = answer.schedules.map((one) => [
    one.id,
    short(one.name, 40),
    one.owner.replace(/^principal:/, ''),
    one.state,
    whenOf(one),
    one.next[0] === undefined ? (one.paused?.reason ?? '') : time(one.next[0]),
  ])
  print(answer, rows.length > 0 ? table([head, ...rows]) : 'No schedules.')
}

async function show({ args: [id], request, print }: Context<object, [string]>) {
  const schedule = await request('GET /api/schedules/:id', { params: { id } })
  print(schedule, described(schedule))
}

async function history({
  args: [id],
  values: { limit },
  request,
  print,
}: Context<ValuesOf<typeof historyOptions>, [string]>) {
  const query = limit === undefined ? {} : { limit: toNumber('limit', limit) }
  const answer = await request('GET /api/schedules/:id/history', { params: { id }, query })
  const head = ['slot', 'state', 'told', 'tokens', 'what came of it']
  const text = answer.slots.length > 0 ? table([head, ...answer.slots.map(rowOf)]) : 'No slot yet.'
  print(answer, text)
}

async function pause({
  args: [id],
  values: { reason },
  request,
  print,
}: Context<ValuesOf<typeof pauseOptions>, [string]>) {
  const body = reason === undefined ? {} : { reason }
  const schedule = await request('POST /api/schedules/:id/pause', { params: { id }, body })
  print(schedule, described(schedule))
}

async function resume({ args: [id], request, print }: Context<object, [string]>) {
  const schedule = await request('POST /api/schedules/:id/resume', { params: { id }, body: {} })
  print(schedule, described(schedule))
}

async function run({ args: [id], request, print }: Context<object, [string]>) {
  const slot = await request('POST /api/schedules/:id/run', { params: { id }, body: {} })
  print(slot, `It is on its way: isola schedule history ${short(id)}`)
}

async function remove({
  args: [id],
  values,
  request,
  print,
}: Context<ValuesOf<typeof dryRun>, [string]>) {
  if (values['dry-run']) {
    const schedule = await request('GET /api/schedules/:id', { params: { id } })
    return print(schedule, `Would be removed:\n${described(schedule)}`)
  }
  const gone = await request('DELETE /api/schedules/:id', { params: { id } })
  print(gone, `${id} is removed.`)
}

async function notices({ args: [id], request, print }: Context<object, [string?]>) {
  if (id !== undefined) {
    const gone = await request('DELETE /api/notices/:notice', { params: { notice: id } })
    return print(gone, `${short(id)} is taken away.`)
  }
  const answer = await request('GET /api/notices', { query: {} })
  const lines = answer.notices.map(
    (one) => `${time(one.atMs)}  ${one.name}  (${one.id})\n${one.text}`,
  )
  print(answer, lines.length > 0 ? lines.join('\n\n') : 'No notices.')
}

async function zone({ args: [timeZone], request, print }: Context<object, [string?]>) {
  const settings =
    timeZone === undefined
      ? await request('GET /api/settings')
      : await request('POST /api/settings', { body: { timeZone } })
  print(settings, `Your time zone is ${settings.timeZone}.`)
}

const addOptions = {
  name: { type: 'string', value: 'name', about: 'what it is called' },
  cron: { type: 'string', value: 'expression', about: 'five fields, such as "0 9 * * 1-5"' },
  zone: { type: 'string', value: 'zone', about: 'IANA time zone of --cron; yours if absent' },
  every: { type: 'string', value: 'minutes', about: 'instead: every so many minutes' },
  at: { type: 'string', multiple: true, value: 'moment', about: 'instead: once, with its offset' },
  agent: { type: 'string', value: 'name', about: 'who works; the orchestrator if absent' },
  model: { type: 'string', value: 'name' },
  tool: { type: 'string', value: 'name', about: 'instead of a task: one call, without a model' },
  input: { type: 'string', value: 'json', about: 'of --tool' },
  plugin: { type: 'string', value: 'id', about: 'instead: what its manifest schedules, for you' },
  check: { type: 'string', value: 'tool', about: 'asked first: only `shouldRun: true` goes on' },
  'catch-up': { type: 'string', value: 'skip|once|all', about: 'of slots nobody fired in time' },
  'not-after': { type: 'string', value: 'minutes', about: 'a slot that is later is missed' },
  overlap: { type: 'string', value: 'skip|queue', about: 'a slot while an earlier one works' },
  jitter: { type: 'string', value: 'seconds', about: 'comes up to so much later' },
  'daily-runs': { type: 'string', value: 'n', about: 'so many firings a day at most' },
  failures: { type: 'string', value: 'n', about: 'pauses itself after so many in a row' },
  deliver: {
    type: 'string',
    value: 'where',
    about: 'none, principal (your notices), the id of a session, or an https address',
  },
  ...dryRun,
} as const satisfies Options
const listOptions = {
  principal: { type: 'string', value: 'name', about: "another's; for operators and auditors" },
  all: { type: 'boolean', about: "everybody's; for operators and auditors" },
} as const satisfies Options
const historyOptions = {
  limit: { type: 'string', value: 'n', about: '1 to 500' },
} as const satisfies Options
const pauseOptions = {
  reason: { type: 'string', value: 'text', about: 'told to whoever looks' },
} as const satisfies Options

export default {
  noun: 'schedule',
  verbs: defineVerbs({
    add: {
      usage:
        'isola schedule add [<task>] (--cron <expression> [--zone <zone>] | --every <minutes> | --at <moment>…) [options]',
      about:
        'Has an agent do a task by the clock, or calls a tool. With --dry-run the next slots are printed, and nothing is made.',
      options: addOptions,
      run: add,
    },
    list: {
      usage: 'isola schedule list [--principal <name> | --all]',
      about: 'Your schedules with their next slots. To list them moves none.',
      options: listOptions,
      run: list,
    },
    show: {
      usage: 'isola schedule show <schedule>',
      about: 'All of one, with its next slots.',
      run: show,
    },
    history: {
      usage: 'isola schedule history <schedule> [--limit <n>]',
      about: 'What became of each slot: done, failed, missed or skipped, and whether it was told.',
      options: historyOptions,
      run: history,
    },
    pause: {
      usage: 'isola schedule pause <schedule> [--reason <text>]',
      about: 'What is due meanwhile is skipped.',
      options: pauseOptions,
      run: pause,
    },
    resume: {
      usage: 'isola schedule resume <schedule>',
      about: 'It goes on with the next slot.',
      run: resume,
    },
    run: {
      usage: 'isola schedule run <schedule>',
      about: 'Fires it now, beside its slots.',
      run,
    },
    notices: {
      usage: 'isola schedule notices [<notice>]',
      about: 'What schedules had to tell you; with an id, takes that one away.',
      run: notices,
    },
    zone: {
      usage: 'isola schedule zone [<zone>]',
      about: 'Your time zone, or a new one: it holds for schedules that are made from then on.',
      run: zone,
    },
    remove: {
      usage: 'isola schedule remove <schedule> [--yes] [--dry-run]',
      about: 'Takes it away with its history. What has begun goes on.',
      options: dryRun,
      asks: ({ args: [id] }: Context<object, [string]>) => `Remove ${short(id)} and its history?`,
      run: remove,
    },
  }),
}
