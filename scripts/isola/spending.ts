// isola usage show: what was spent, and a principal's day.
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
  const answer = (await request('GET /api/operator/usage', { query })) as Spending
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
  const query = values.principal ? { principal: values.principal } : {}
  // Without `by` it answers a day.
  const answer = (await request('GET /api/operator/usage', { query })) as Day
  const { principal, day: date, limits, settled, reserved, openRuns } = answer
  const row = (name: string, amount: Amount) => [name, tokensOf(amount), costOf(amount)]
  const rows = [row('spent', settled), row('reserved', reserved), row('limit', limits)]
  const head = `${principal}, ${date} (UTC), ${openRuns} open run${openRuns === 1 ? '' : 's'}`
  const isOpen = limits.tokens === null && limits.costUsd === null
  const hint = isOpen
    ? '\nThis day has no limit, so nothing is counted for it. What was spent: isola usage show --by principal'
    : ''
  print(answer, `${head}\n${table([['', 'tokens', 'cost'], ...rows])}${hint}`)
}

function show(context: Context<Values>) {
  const { by, since, until, limit, day: ofDay } = context.values
  if (ofDay !== undefined && (since !== undefined || until !== undefined))
    throw new UsageError('--day is a time of its own: leave out --since and --until.')
  return [by, since, until, limit, ofDay].some((one) => one !== undefined)
    ? report(context)
    : day(context)
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
  limit: { type: 'string', value: 'n', about: 'the dearest n, 1 to 500; 100 unless set' },
} as const satisfies Options

export default {
  noun: 'usage',
  verbs: defineVerbs({
    show: {
      usage:
        'isola usage show [--day <day>] [--by <what>] [--since <when>] [--until <when>] [--principal <id>] [--limit <n>]',
      about:
        "Who spent what on what (--day yesterday), as the record has it: tokens, cost, calls, runs and the platform, of a day, of the last 24 hours or since --since. Without --day, --by and --since, a principal's day with its limits.",
      options,
      run: show,
    },
  }),
}
