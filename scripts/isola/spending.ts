// isola usage show: what was spent, and a principal's day.
import { dollars, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { dayRange, range, rangeOptions } from './when.ts'

const path = '/api/operator/usage'
const groups = ['principal', 'agent', 'model', 'plugin', 'session', 'day', 'spending']
const tokensOf = ({ tokens }) => (tokens === null ? 'no limit' : String(tokens))
const costOf = ({ costUsd }) => (costUsd === null ? 'no limit' : dollars(costUsd))

const columns = [
  ['runs', ({ runs }) => String(runs)],
  ['model calls', ({ modelCalls }) => String(modelCalls)],
  ['tool calls', ({ toolCalls }) => String(toolCalls)],
  ['tokens', ({ tokens }) => String(tokens)],
  ['in', ({ inputTokens }) => String(inputTokens)],
  ['out', ({ outputTokens }) => String(outputTokens)],
  ['cost', ({ costUsd }) => dollars(costUsd)],
  ['platform', ({ platformUsd = 0 }) => dollars(platformUsd)],
]

/** What the platform was made to do, and for whom. */
function platformLine(whose, { platform = {}, platformUsd = 0 } = {}) {
  const amounts = Object.entries(platform).map(([unit, amount]) => `${unit} ${amount}`)
  return amounts.length === 0
    ? ''
    : `\nplatform, ${whose}: ${dollars(platformUsd)} (${amounts.join(', ')}; cpuMs is an estimate)`
}

async function report({ values, request, print }) {
  const { by = 'spending', principal, limit, day: ofDay } = values
  if (!groups.includes(by)) throw new UsageError(`--by is one of ${groups.join(', ')}, not ${by}.`)
  const query = new URLSearchParams({
    by,
    ...(ofDay === undefined ? range(values) : dayRange(ofDay, 'day')),
    ...(principal && { principal }),
    ...(limit && { limit }),
  })
  const answer = await request(`${path}?${query}`)
  const { sinceMs, untilMs, rows, total, deployment } = answer
  const isSession = by === 'session'
  const isSpending = by === 'spending'
  const line = (name, row, more = []) => [
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

async function day({ values, request, print }) {
  const query = new URLSearchParams(values.principal ? { principal: values.principal } : {})
  const answer = await request(`${path}?${query}`)
  const { principal, day: date, limits, settled, reserved, openRuns } = answer
  const row = (name, amount) => [name, tokensOf(amount), costOf(amount)]
  const rows = [row('spent', settled), row('reserved', reserved), row('limit', limits)]
  const head = `${principal}, ${date} (UTC), ${openRuns} open run${openRuns === 1 ? '' : 's'}`
  const isOpen = limits.tokens === null && limits.costUsd === null
  const hint = isOpen
    ? '\nThis day has no limit, so nothing is counted for it. What was spent: isola usage show --by principal'
    : ''
  print(answer, `${head}\n${table([['', 'tokens', 'cost'], ...rows])}${hint}`)
}

function show(context) {
  const { by, since, until, limit, day: ofDay } = context.values
  if (ofDay !== undefined && (since !== undefined || until !== undefined))
    throw new UsageError('--day is a time of its own: leave out --since and --until.')
  return [by, since, until, limit, ofDay].some((one) => one !== undefined)
    ? report(context)
    : day(context)
}

export default {
  noun: 'usage',
  verbs: {
    show: {
      usage:
        'isola usage show [--day <day>] [--by <what>] [--since <when>] [--until <when>] [--principal <id>] [--limit <n>]',
      about:
        "Who spent what on what (--day yesterday), as the record has it: tokens, cost, calls, runs and the platform, of a day, of the last 24 hours or since --since. Without --day, --by and --since, a principal's day with its limits.",
      options: {
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
      },
      run: show,
    },
  },
}
