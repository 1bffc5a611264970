// isola schedule …: work that begins by the clock.
import { defined } from '../../src/contracts/defined.ts'
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { bodyOf, listOptions, ownOptions, pauseOptions, type Body } from './schedule-body.ts'
import { described, rowOf, slotsOf, whenOf } from './schedule-text.ts'
import { short, table, time } from './text.ts'
import { toNumber } from './to-number.ts'
import { UsageError } from './usage.ts'

type Change = Request<'POST /api/schedules/:id'>['body']

async function add({
  args: [task],
  values,
  request,
  print,
}: Context<ValuesOf<typeof addOptions>, [string?]>) {
  const { plugin } = values
  const body: Body = { ...bodyOf(task, values), ...defined({ plugin }) }
  const made = await request('POST /api/schedules', { body })
  if (!values['dry-run']) return print(made, described(made))
  print(made, ['Would be made, and due at:', ...slotsOf(made)].join('\n'))
}

const removable = { check: 'check', 'not-after': 'notAfterMinutes', limits: 'limits' } as const

async function edit({
  args: [id, task],
  values,
  request,
  print,
}: Context<ValuesOf<typeof editOptions>, [string, string?]>) {
  const without = (values.without ?? []).map((name) => {
    if (name in removable) return [removable[name as keyof typeof removable], null] as const
    throw new UsageError(
      `--without is ${Object.keys(removable).join(', ')}, not ${short(name, 40)}.`,
    )
  })
  const body: Change = { ...bodyOf(task, values), ...Object.fromEntries(without) }
  const schedule = await request('POST /api/schedules/:id', { params: { id }, body })
  if (!values['dry-run']) return print(schedule, described(schedule))
  print(schedule, `Would be:\n${described(schedule)}`)
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
  const query = limit === undefined ? {} : { limit: toNumber('--limit', limit) }
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

async function language({ args: [tag], request, print }: Context<object, [string?]>) {
  const settings =
    tag === undefined
      ? await request('GET /api/settings')
      : await request('POST /api/settings', { body: { language: tag } })
  const text = settings.language ?? 'not set: what schedules tell you is in that of their task'
  print(settings, `Your language is ${text}.`)
}

const addOptions = {
  plugin: { type: 'string', value: 'id', about: 'instead: what its manifest schedules, for you' },
  ...ownOptions,
} as const satisfies Options
const editOptions = {
  without: { type: 'string', multiple: true, value: 'check|not-after|limits' },
  ...ownOptions,
} as const satisfies Options
const historyOptions = {
  limit: { type: 'string', value: 'n', about: '1 to 500' },
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
    edit: {
      usage: 'isola schedule edit <schedule> [<task>] [options]',
      about:
        'Changes what is named. Its next slot changes only with its times, and none that is due is lost. With --dry-run it is only shown.',
      options: editOptions,
      run: edit,
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
    language: {
      usage: 'isola schedule language [<tag>]',
      about: 'What schedules tell you is in it: de, pt-BR.',
      run: language,
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
