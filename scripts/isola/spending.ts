// isola usage show|unconfirmed|confirm: what was spent, a principal's day, and what failed requests hold.
import { defined } from '../../src/contracts/defined.ts'
import type { Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { dollars, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { dayRange, range, rangeOptions } from './when.ts'

type Usage = Reply<'GET /api/operator/usage'>
type Spending = Extract<Usage, { readonly by: string }>
type Day = Exclude<Usage, Spending>
type Amount = Day['limits']
type Spent = Spending['total']

const groups = ['principal', 'agent', 'model', 'plugin', 'session', 'day', 'spending'] as const
const isGroup = (text: string): text is (typeof groups)[number] =>
  groups.some((group) => group === text)
const tokensOf = ({ tokens }: Amount) => (tokens === null ? 'no limit' : String(tokens))
const costOf = ({ costUsd }: Amount) => (costUsd === null ? 'no limit' : dollars(costUsd))

const columns: readonly (readonly [string, (spent: Spent) => string])[] = [
  ['runs', ({ runs }) => String(runs)],
  ['model calls', ({ modelCalls }) => String(modelCalls)],
  ['tool calls', ({ toolCalls }) => String(toolCalls)],
  ['tokens', ({ tokens }) => String(tokens)],
  ['in', ({ inputTokens }) => String(inputTokens)],
  ['out', ({ outputTokens }) => String(outputTokens)],
  ['cost', ({ costUsd }) => dollars(costUsd)],
  ['platform', ({ platformUsd = 0 }: Partial<Spent>) => dollars(platformUsd)],
]

/** What the platform was made to do, and for whom. */
function platformLine(
  whose: string,
  { platform = {}, platformUsd = 0 }: Partial<Pick<Spent, 'platform' | 'platformUsd'>> = {},
) {
  const amounts = Object.entries(platform).map(([unit, amount]) => `${unit} ${amount}`)
  return amounts.length === 0
    ? ''
    : `\nplatform, ${whose}: ${dollars(platformUsd)} (${amounts.join(', ')}; cpuMs is an estimate)`
}

type Values = ValuesOf<typeof options>

async function report({ values, request, print }: Context<Values>) {
  const { by = 'spending', principal, limit, day: ofDay } = values
  if (!isGroup(by)) throw new UsageError(`--by is one of ${groups.join(', ')}, not ${by}.`)
  const query = {
    by,
    ...(ofDay === undefined ? range(values) : dayRange(ofDay, 'day')),
    ...(principal && { principal }),
    ...(limit && { limit }),
  }
  // With `by` it answers sums.
  const { principal: _of, ...own } = query
  const answer = (
    values.mine
      ? await request('GET /api/usage', { query: own })
      : await request('GET /api/operator/usage', { query })
  ) as Spending
  const { sinceMs, untilMs, rows, total, deployment } = answer
  const isSession = by === 'session'
  const isSpending = by === 'spending'
  const line = (name: string | undefined, row: Spent, more: readonly unknown[] = []) => [
    name,
    ...more,
    ...columns.map(([, cellOf]) => cellOf(row)),
  ]
  const ofWhom = isSpending ? ['agent', 'model'] : isSession ? ['principal', 'agent'] : []
  const head = [isSpending ? 'principal' : by, ...ofWhom, ...columns.map(([name]) => name)]
  const lines = rows.map((row) =>
    isSpending
      ? line(row.principal, row, [row.agent, row.name ?? '(tools, platform)'])
      : line(row.name ?? `(no ${by})`, row, isSession ? [row.principal, row.agent] : []),
  )
  const sum = line(
    'total',
    total,
    ofWhom.map(() => ''),
  )
  const during = `${time(sinceMs)} to ${time(untilMs)}`
  const ran = `${during}\n${table([head, ...lines, sum])}${platformLine('runs', total)}`
  // What nobody asked for costs too.
  const idle = platformLine('the deployment itself', deployment)
  const text = (rows.length === 0 ? `No runs from ${during}.` : ran) + idle
  print(answer, text)
}

async function day({ values, request, print }: Context<Values>) {
  const { mine, principal: of } = values
  // Without `by` it answers a day.
  const answer = (
    mine
      ? await request('GET /api/usage')
      : await request('GET /api/operator/usage', { query: of ? { principal: of } : {} })
  ) as Day
  const { principal, day: date, limits, settled, reserved, unconfirmed, openRuns } = answer
  const row = (name: string, amount: Amount) => [name, tokensOf(amount), costOf(amount)]
  const rows = [
    row('spent', settled),
    ...(unconfirmed ? [row('of it unconfirmed', unconfirmed)] : []),
    row('reserved', reserved),
    row('limit', limits),
  ]
  const head = `${principal}, ${date} (UTC), ${openRuns} open run${openRuns === 1 ? '' : 's'}`
  const isOpen = limits.tokens === null && limits.costUsd === null
  const more = isOpen ? '\nWho spent it on what: isola usage show --by principal' : ''
  const hint = unconfirmed
    ? '\nUnconfirmed: failed requests that may have reached a provider. isola usage unconfirmed lists them.'
    : ''
  print(answer, `${head}\n${table([['', 'tokens', 'cost'], ...rows])}${more}${hint}`)
}

function show(context: Context<Values>) {
  const { by, since, until, limit, day: ofDay, mine, principal } = context.values
  if (ofDay !== undefined && (since !== undefined || until !== undefined))
    throw new UsageError('--day is a time of its own: leave out --since and --until.')
  if (mine && principal !== undefined)
    throw new UsageError('--mine is what you spent: leave out --principal.')
  const isReport = [by, since, until, limit, ofDay].some((one) => one !== undefined)
  if (isReport) return report(context)
  if (mine || principal !== undefined) return day(context)
  return report({ ...context, values: { ...context.values, by: 'principal' } })
}

const unconfirmedOptions = {
  principal: { type: 'string', value: 'id', about: 'of this one only' },
  ...rangeOptions,
  limit: { type: 'string', value: 'n', about: 'the newest n, 1 to 500; 100 unless set' },
} as const satisfies Options

async function listUnconfirmed({
  values,
  request,
  print,
}: Context<ValuesOf<typeof unconfirmedOptions>>) {
  const { principal, limit } = values
  const { since } = range(values)
  const query = {
    ...defined({ since }),
    ...(principal && { principal }),
    ...(limit && { limit }),
  }
  const answer = await request('GET /api/operator/unconfirmed', { query })
  const rows = answer.attempts.map((one) => [
    time(one.atMs),
    one.principal,
    one.model,
    one.code,
    String(one.tokens),
    dollars(one.costUsd),
    one.id,
  ])
  const head = ['when', 'principal', 'model', 'code', 'tokens', 'cost', 'id']
  const how = '\n\nisola usage confirm <id> --released gives it back; --spent says what it cost.'
  print(answer, rows.length === 0 ? 'Nothing is unconfirmed.' : table([head, ...rows]) + how)
}

const confirmOptions = {
  released: { type: 'boolean', about: 'it cost nothing: all of it is given back' },
  spent: { type: 'boolean', about: 'it was billed, as it was booked unless an amount is given' },
  tokens: { type: 'string', value: 'n', about: 'with --spent: so many tokens' },
  cost: { type: 'string', value: 'usd', about: 'with --spent: so many US dollars' },
} as const satisfies Options

async function confirmOne({
  args: [id],
  values,
  request,
  print,
}: Context<ValuesOf<typeof confirmOptions>, [string]>) {
  const { released, spent, tokens, cost } = values
  if (Boolean(released) === Boolean(spent))
    throw new UsageError('Say what became of it: --released or --spent.')
  const body = {
    outcome: released ? ('released' as const) : ('spent' as const),
    ...(tokens !== undefined && { tokens: Number(tokens) }),
    ...(cost !== undefined && { costUsd: Number(cost) }),
  }
  const answer = await request('POST /api/operator/unconfirmed/:id', { params: { id }, body })
  const { principal, held, spent: came } = answer
  const text = `${principal}: ${came.tokens} of ${held.tokens} tokens and ${dollars(came.costUsd)} of ${dollars(held.costUsd)} were spent; the rest is given back.`
  print(answer, text)
}

const options = {
  by: {
    type: 'string',
    value: 'what',
    about:
      'principal, agent, model, plugin, session, day, or spending: by principal, agent and model',
  },
  day: { type: 'string', value: 'day', about: 'today, yesterday or a date (UTC)' },
  ...rangeOptions,
  principal: { type: 'string', value: 'id', about: 'of this one only' },
  mine: { type: 'boolean', about: 'your own: for every role' },
  limit: { type: 'string', value: 'n', about: 'the dearest n, 1 to 500; 100 unless set' },
} as const satisfies Options

export default {
  noun: 'usage',
  verbs: defineVerbs({
    show: {
      usage:
        'isola usage show [--day <day>] [--by <what>] [--since <when>] [--until <when>] [--principal <id> | --mine] [--limit <n>]',
      about:
        'Who spent what on what (--day yesterday), as the record has it: tokens, cost, calls, runs and the platform, of a day, of the last 24 hours or since --since. Without any of these by principal. With --principal or --mine alone, that day with its limits.',
      options,
      run: show,
    },
    unconfirmed: {
      usage: 'isola usage unconfirmed [--principal <id>] [--since <when>] [--limit <n>]',
      about:
        'Failed requests to models that may have reached one, of the last 24 hours or since --since: what they hold stays booked.',
      options: unconfirmedOptions,
      run: listUnconfirmed,
    },
    confirm: {
      usage: 'isola usage confirm <id> --released | --spent [--tokens <n>] [--cost <usd>]',
      about: 'Says what such a request came to: what it did not cost is given back.',
      options: confirmOptions,
      run: confirmOne,
    },
  }),
}
