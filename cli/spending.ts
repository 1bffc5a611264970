// isola usage show|unconfirmed|confirm: spending, the day of a principal, and the reservations of failed requests.
import type { Reply } from '../src/client/client.ts'
import { noun, on, verb, type Context } from './command.ts'
import { flag, text, type ValuesOf, UsageError } from './options.ts'
import { dollars, lines, listed, table, time } from './text.ts'
import { dayRange, rangeOptions } from './when.ts'

type Usage = Reply<'GET /api/operator/usage'>
type Spending = Extract<Usage, { readonly by: string }>
type Day = Exclude<Usage, Spending>
type Spent = Spending['total']

const groups = ['principal', 'agent', 'model', 'plugin', 'session', 'day', 'spending'] as const
type Group = (typeof groups)[number]
const isGroup = (text: string): text is Group => groups.some((group) => group === text)
const columns = {
  runs: 'runs',
  'model calls': 'modelCalls',
  'tool calls': 'toolCalls',
  tokens: 'tokens',
  in: 'inputTokens',
  out: 'outputTokens',
  cost: ({ costUsd }: Spent) => dollars(costUsd),
  platform: ({ platformUsd = 0 }: Partial<Spent>) => dollars(platformUsd),
} as const

/** The platform's work in units, with its cost. */
function platformLine(whose: string, { platform = {}, platformUsd = 0 }: Partial<Spent> = {}) {
  const amounts = Object.entries(platform).map(([unit, amount]) => `${unit} ${amount}`)
  return amounts.length === 0
    ? ''
    : `\nplatform, ${whose}: ${dollars(platformUsd)} (${amounts.join(', ')}; cpuMs is an estimate)`
}

const options = {
  by: text(
    'what',
    'principal, agent, model, plugin, session, day, or spending: by principal, agent and model',
  ),
  day: text('day', 'today, yesterday or a date (UTC)', {
    to: null,
    fields: (day: string) => dayRange(day, '--day'),
  }),
  ...rangeOptions,
  principal: text('id', 'of this one only'),
  mine: flag('your own: for every role', { to: null }),
  limit: text('n', 'the dearest n, 1 to 500; 100 unless set'),
}
type Values = ValuesOf<typeof options>

/** Whose a row is, and the columns that say more of it. */
function rowHeads(by: Group): Readonly<Record<string, 'principal' | 'agent' | 'name'>> {
  const whose = { principal: 'principal', agent: 'agent' } as const
  if (by === 'spending') return { ...whose, model: 'name' }
  return { [by]: 'name', ...(by === 'session' && whose) }
}

async function report({ values: { mine }, sent, ask, print }: Context<Values>, by: string) {
  if (!isGroup(by)) throw new UsageError(`--by is one of ${groups.join(', ')}, not ${by}.`)
  // With `by` it answers sums. --mine excludes --principal.
  const answer = (await ask(mine ? 'GET /api/usage' : 'GET /api/operator/usage', {
    ...sent(),
    by,
  })) as Spending
  const { sinceMs, untilMs, rows, total, deployment } = answer
  const none = by === 'spending' ? '(tools, platform)' : `(no ${by})`
  const named = rows.map((row) => ({ ...row, name: row.name ?? none }))
  const [principal, name] = by === 'spending' ? ['total', ''] : ['', 'total']
  const all = [...named, { ...total, principal, agent: '', name }]
  const text = listed(all, '', { ...rowHeads(by), ...columns })
  const times = `${time(sinceMs)} to ${time(untilMs)}`
  const ran = `${times}\n${text}${platformLine('runs', total)}`
  // The deployment's own work costs too.
  const idle = platformLine('the deployment itself', deployment)
  print(answer, (rows.length === 0 ? `No runs from ${times}.` : ran) + idle)
}

async function showDay({ values: { mine, principal: of }, ask, print }: Context<Values>) {
  // Without `by` it answers a day.
  const answer = (
    mine
      ? await ask('GET /api/usage')
      : await ask('GET /api/operator/usage', { principal: of || undefined })
  ) as Day
  const { principal, day, limits, settled, reserved, unconfirmed, openRuns } = answer
  const row = (name: string, { tokens, costUsd }: Day['limits']) => [
    name,
    tokens ?? 'no limit',
    costUsd === null ? 'no limit' : dollars(costUsd),
  ]
  const text = lines(
    `${principal}, ${day} (UTC), ${openRuns} open run${openRuns === 1 ? '' : 's'}`,
    table([
      ['', 'tokens', 'cost'],
      row('spent', settled),
      ...(unconfirmed ? [row('of it unconfirmed', unconfirmed)] : []),
      row('reserved', reserved),
      row('limit', limits),
    ]),
    limits.tokens === null &&
      limits.costUsd === null &&
      'Who spent it on what: isola usage show --by principal',
    unconfirmed &&
      'Unconfirmed: failed requests that may have reached a provider. isola usage unconfirmed lists them.',
  )
  print(answer, text)
}

export default noun('usage', {
  show: verb({
    usage:
      '[--day <day>] [--by <what>] [--since <when>] [--until <when>] [--principal <id> | --mine] [--limit <n>]',
    about:
      'Who spent what on what (--day yesterday), as the record has it: tokens, cost, calls, runs and the ' +
      'platform, of a day, of the last 24 hours or since --since. Without any of these by principal. With ' +
      '--principal or --mine alone, that day with its limits.',
    options,
    run(context) {
      const { by, since, until, limit, day, mine, principal } = context.values
      if (day !== undefined && (since !== undefined || until !== undefined))
        throw new UsageError('--day is a time of its own: leave out --since and --until.')
      if (mine && principal !== undefined)
        throw new UsageError('--mine is what you spent: leave out --principal.')
      if (by !== undefined) return report(context, by)
      if ([since, until, limit, day].some((one) => one !== undefined))
        return report(context, 'spending')
      return (mine ?? principal) === undefined ? report(context, 'principal') : showDay(context)
    },
  }),
  unconfirmed: on('GET /api/operator/unconfirmed', {
    usage: '[--principal <id>] [--since <when>] [--limit <n>]',
    about:
      'Failed requests to models that may have reached one, of the last 24 hours or since --since: what they ' +
      'hold stays booked.',
    options: {
      principal: text('id', 'of this one only'),
      since: rangeOptions.since,
      until: { ...rangeOptions.until, to: null },
      limit: text('n', 'the newest n, 1 to 500; 100 unless set'),
    },
    says({ attempts }) {
      const table = listed(attempts, 'Nothing is unconfirmed.', {
        when: 'atMs',
        principal: 'principal',
        model: 'model',
        code: 'code',
        tokens: 'tokens',
        cost: ({ costUsd }) => dollars(costUsd),
        id: 'id',
      })
      const how =
        '\n\nisola usage confirm <id> --released gives it back; --spent says what it cost.'
      return attempts.length === 0 ? table : table + how
    },
  }),
  confirm: on('POST /api/operator/unconfirmed/:id', {
    usage: '<id> --released | --spent [--tokens <n>] [--cost <usd>]',
    about: 'Says what such a request came to: what it did not cost is given back.',
    options: {
      released: flag('it cost nothing: all of it is given back', {
        to: 'outcome',
        sends: 'released',
      }),
      spent: flag('it was billed, as it was booked unless an amount is given', {
        to: 'outcome',
        sends: 'spent',
      }),
      tokens: text('n', 'with --spent: so many tokens', { read: Number }),
      cost: text('usd', 'with --spent: so many US dollars', { to: 'costUsd', read: Number }),
    },
    sends({ values: { released, spent } }) {
      if (Boolean(released) === Boolean(spent))
        throw new UsageError('Say what became of it: --released or --spent.')
      return {}
    },
    says: ({ principal, held, spent }) =>
      `${principal}: ${spent.tokens} of ${held.tokens} tokens and ${dollars(spent.costUsd)} of ` +
      `${dollars(held.costUsd)} were spent; the rest is given back.`,
  }),
})
