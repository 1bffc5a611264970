// isola usage show|unconfirmed|confirm: spending, the day of a principal, and the reservations of failed requests.
import type { Reply } from '../src/client/client.ts'
import { noun, on, verb, type Context } from './command.ts'
import { flag, sentOf, text, type Options, type ValuesOf } from './options.ts'
import { dollars, lines, listed, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { dayRange, rangeOptions } from './when.ts'

type Usage = Reply<'GET /api/operator/usage'>
type Spending = Extract<Usage, { readonly by: string }>
type Day = Exclude<Usage, Spending>
type Amount = Day['limits']
type Spent = Spending['total']

const groups = ['principal', 'agent', 'model', 'plugin', 'session', 'day', 'spending'] as const
type Group = (typeof groups)[number]
const isGroup = (text: string): text is Group => groups.some((group) => group === text)
const tokensOf = ({ tokens }: Amount) => (tokens === null ? 'no limit' : tokens)
const costOf = ({ costUsd }: Amount) => (costUsd === null ? 'no limit' : dollars(costUsd))

const columns: Readonly<Record<string, (spent: Spent) => unknown>> = {
  runs: ({ runs }) => runs,
  'model calls': ({ modelCalls }) => modelCalls,
  'tool calls': ({ toolCalls }) => toolCalls,
  tokens: ({ tokens }) => tokens,
  in: ({ inputTokens }) => inputTokens,
  out: ({ outputTokens }) => outputTokens,
  cost: ({ costUsd }) => dollars(costUsd),
  platform: ({ platformUsd = 0 }: Partial<Spent>) => dollars(platformUsd),
}

/** The platform's work in units, with its cost. */
function platformLine(
  whose: string,
  { platform = {}, platformUsd = 0 }: Partial<Pick<Spent, 'platform' | 'platformUsd'>> = {},
) {
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
  day: text('day', 'today, yesterday or a date (UTC)', { to: null }),
  ...rangeOptions,
  principal: text('id', 'of this one only'),
  mine: flag('your own: for every role', { to: null }),
  limit: text('n', 'the dearest n, 1 to 500; 100 unless set'),
} as const satisfies Options
type Values = ValuesOf<typeof options>

/** Whose a row is, and the columns that say more of it. */
function rowHeads(
  by: string,
): Readonly<Record<string, (row: Spending['rows'][number]) => unknown>> {
  if (by === 'spending')
    return {
      principal: ({ principal }) => principal,
      agent: ({ agent }) => agent,
      model: ({ name }) => name ?? '(tools, platform)',
    }
  const named = { [by]: ({ name }: Spending['rows'][number]) => name ?? `(no ${by})` }
  return by === 'session'
    ? { ...named, principal: ({ principal }) => principal, agent: ({ agent }) => agent }
    : named
}

async function report({ values, request, print }: Context<Values>) {
  const { by = 'spending', day, mine } = values
  if (!isGroup(by)) throw new UsageError(`--by is one of ${groups.join(', ')}, not ${by}.`)
  const during = day === undefined ? {} : dayRange(day, '--day')
  const query = { ...sentOf(options, values), ...during, by }
  // With `by` it answers sums. --mine excludes --principal.
  const answer = (
    mine
      ? await request('GET /api/usage', { query })
      : await request('GET /api/operator/usage', { query })
  ) as Spending
  const { sinceMs, untilMs, rows, total, deployment } = answer
  const heads = rowHeads(by)
  const amountsOf = (row: Spent) => Object.values(columns).map((cellOf) => cellOf(row))
  const text = table([
    [...Object.keys(heads), ...Object.keys(columns)],
    ...rows.map((row) => [...Object.values(heads).map((headOf) => headOf(row)), ...amountsOf(row)]),
    [...Object.keys(heads).map((_, at) => (at === 0 ? 'total' : '')), ...amountsOf(total)],
  ])
  const times = `${time(sinceMs)} to ${time(untilMs)}`
  const ran = `${times}\n${text}${platformLine('runs', total)}`
  // The deployment's own work costs too.
  const idle = platformLine('the deployment itself', deployment)
  print(answer, (rows.length === 0 ? `No runs from ${times}.` : ran) + idle)
}

async function showDay({ values: { mine, principal: of }, request, print }: Context<Values>) {
  // Without `by` it answers a day.
  const answer = (
    mine
      ? await request('GET /api/usage')
      : await request('GET /api/operator/usage', { query: of ? { principal: of } : {} })
  ) as Day
  const { principal, day, limits, settled, reserved, unconfirmed, openRuns } = answer
  const row = (name: string, amount: Amount) => [name, tokensOf(amount), costOf(amount)]
  const amounts = table([
    ['', 'tokens', 'cost'],
    row('spent', settled),
    ...(unconfirmed ? [row('of it unconfirmed', unconfirmed)] : []),
    row('reserved', reserved),
    row('limit', limits),
  ])
  const isOpen = limits.tokens === null && limits.costUsd === null
  const text = lines(
    `${principal}, ${day} (UTC), ${openRuns} open run${openRuns === 1 ? '' : 's'}`,
    amounts,
    isOpen && 'Who spent it on what: isola usage show --by principal',
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
      'Who spent what on what (--day yesterday), as the record has it: tokens, cost, calls, runs and the platform, of a day, of the last 24 hours or since --since. Without any of these by principal. With --principal or --mine alone, that day with its limits.',
    options,
    run(context) {
      const { by, since, until, limit, day, mine, principal } = context.values
      if (day !== undefined && (since !== undefined || until !== undefined))
        throw new UsageError('--day is a time of its own: leave out --since and --until.')
      if (mine && principal !== undefined)
        throw new UsageError('--mine is what you spent: leave out --principal.')
      const isReport = [by, since, until, limit, day].some((one) => one !== undefined)
      if (isReport) return report(context)
      if (mine || principal !== undefined) return showDay(context)
      return report({ ...context, values: { ...context.values, by: 'principal' } })
    },
  }),
  unconfirmed: on('GET /api/operator/unconfirmed', {
    usage: '[--principal <id>] [--since <when>] [--limit <n>]',
    about:
      'Failed requests to models that may have reached one, of the last 24 hours or since --since: what they hold stays booked.',
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
  confirm: verb({
    usage: '<id> --released | --spent [--tokens <n>] [--cost <usd>]',
    about: 'Says what such a request came to: what it did not cost is given back.',
    options: {
      released: flag('it cost nothing: all of it is given back', { to: null }),
      spent: flag('it was billed, as it was booked unless an amount is given', { to: null }),
      tokens: text('n', 'with --spent: so many tokens', { read: Number }),
      cost: text('usd', 'with --spent: so many US dollars', { to: 'costUsd', read: Number }),
    },
    async run({ args: [id], values, request, print, sent }) {
      if (Boolean(values.released) === Boolean(values.spent))
        throw new UsageError('Say what became of it: --released or --spent.')
      const outcome = values.released ? ('released' as const) : ('spent' as const)
      const body = { ...sent(), outcome }
      const answer = await request('POST /api/operator/unconfirmed/:id', { params: { id }, body })
      const { principal, held, spent } = answer
      print(
        answer,
        `${principal}: ${spent.tokens} of ${held.tokens} tokens and ${dollars(spent.costUsd)} of ${dollars(held.costUsd)} were spent; the rest is given back.`,
      )
    },
  }),
})
