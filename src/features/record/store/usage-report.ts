import { defined } from '#contracts/defined.ts'
import { platformCostNanoUsd } from '#runtime/session/types/platform-prices.ts'
import type {
  PlatformSum,
  UsageKey,
  UsageQuery,
  UsageReport,
  UsageRow,
} from '../types/operations.ts'
import type { Database } from '#platform/d1/database.ts'
import { platformSums, toPlatform } from '#platform/d1/platform-sql.ts'
import { reached } from '#platform/d1/outage.ts'
import { othersBetween, spendingBetween, sumsBetween } from './report-sql.ts'

/** What each row is counted for. What was delegated is told by the session that it was delegated to, and so once. */
const names: Readonly<Record<UsageKey, string>> = {
  principal: 'principal',
  agent: 'agent',
  session: 'session',
  day: `strftime('%Y-%m-%d', at_ms / 1000, 'unixepoch')`,
  model: `iif(type IN ('model_called', 'model_failed'), data->>'provider' || '/' || (data->>'model'), NULL)`,
  plugin: `data->>'plugin'`,
  // Of what was spent on a model its name; of everything else none.
  spending: 'model',
}

const countedSums = [
  'model_calls',
  'tool_calls',
  'input_tokens',
  'output_tokens',
  'booked_tokens',
  'cost_nano_usd',
]
/** What was spent by the model it was spent on, and what the platform was made to do as that of none: neither has the other's. */
const spendingByModel = `(
  SELECT principal, agent, run, ${names.model} AS model, ${countedSums.join(', ')},
    0 AS platform_nano_usd, NULL AS platform
  FROM ${spendingBetween}
  UNION ALL
  SELECT principal, agent, run, NULL, ${countedSums.map(() => '0').join(', ')},
    platform_nano_usd, platform
  FROM ${sumsBetween} WHERE platform IS NOT NULL)`

/** A run that only began is one of its principal, agent and session, and of no model and no plugin. */
const sourceOf = (by: UsageKey): string =>
  by === 'spending'
    ? spendingByModel
    : by === 'model' || by === 'plugin'
      ? spendingBetween
      : sumsBetween

const sums = `
  count(DISTINCT run) AS runs,
  sum(model_calls) AS model_calls,
  sum(tool_calls) AS tool_calls,
  sum(input_tokens + output_tokens + booked_tokens) AS tokens,
  sum(input_tokens) AS input_tokens,
  sum(output_tokens) AS output_tokens,
  sum(cost_nano_usd) AS cost,
  sum(platform_nano_usd) AS platform_cost,
  ${platformSums} AS platform`

/** What the platform was made to do is the run's own, and of no model and no plugin. */
const hasSome = (by: UsageKey): string =>
  by === 'spending'
    ? 'true'
    : sourceOf(by) === spendingBetween
      ? 'starts + spends > 0'
      : '(starts + spends > 0 OR platform IS NOT NULL)'

const ofWhom = (by: UsageKey): string =>
  by === 'spending' ? 'principal, agent' : 'max(principal) AS principal, max(agent) AS agent'

const select = (by: UsageKey, condition: string) => `
  SELECT ${names[by]} AS name, ${ofWhom(by)}, ${sums}
  FROM ${sourceOf(by)} WHERE ${condition} AND ${hasSome(by)}
  GROUP BY ${by === 'spending' ? 'name, principal, agent' : 'name'} ORDER BY ${orderOf(by)}`

function orderOf(by: UsageKey): string {
  switch (by) {
    case 'day':
      return 'name'
    case 'spending':
      return 'cost + platform_cost DESC, tokens DESC, tool_calls DESC, principal, agent, name'
    default:
      return 'cost DESC, tokens DESC, tool_calls DESC, name'
  }
}

const selectTotal = (condition: string) => `
  SELECT NULL AS name, ${sums}
  FROM ${sumsBetween} WHERE ${condition} AND ${hasSome('session')}`

interface Row {
  readonly name: string | null
  readonly principal: string
  readonly agent: string
  readonly runs: number
  /** The sums are `null` over no rows. */
  readonly model_calls: number | null
  readonly tool_calls: number | null
  readonly tokens: number | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost: number | null
  readonly platform_cost: number | null
  readonly platform: string | null
}

/**
 * Adds up what was spent since a moment from the record, whether anybody's day is limited or not. What a call held
 * that a crash cut, and that is booked without knowing, is in its run's own figures only.
 */
export function createUsageReport(database: Database): UsageReport {
  return {
    sum: (query) =>
      reached(async () => {
        const { condition, values } = toCondition(query)
        const read = async (sql: string, ...more: readonly number[]) => {
          const statement = database.prepare(sql).bind(...values, ...more)
          return (await statement.all<Row>()).results
        }
        const limit = `LIMIT ?${values.length + 1}`
        const [rows, [total], others] = await Promise.all([
          read(`${select(query.by, condition)} ${limit}`, query.limit),
          read(selectTotal(condition)),
          // Nobody's is no principal's.
          query.principal === undefined ? readOthers(database, query) : undefined,
        ])
        return {
          rows: rows.map((row) => toUsage(query.by, row)),
          total: toSum(total),
          ...defined({ deployment: others }),
        }
      }),
  }
}

async function readOthers(
  database: Database,
  { sinceMs, untilMs }: UsageQuery,
): Promise<PlatformSum> {
  const sql = `SELECT ${platformSums} AS platform FROM ${othersBetween}`
  const found = await database.prepare(sql).bind(sinceMs, untilMs).all<Pick<Row, 'platform'>>()
  const platform = toPlatform(found.results[0]?.platform)
  return { platform, platformNanoUsd: platformCostNanoUsd(platform) }
}

function toCondition({ sinceMs, untilMs, principal }: UsageQuery) {
  const values = [sinceMs, untilMs, ...(principal === undefined ? [] : [principal])]
  const condition = principal === undefined ? 'true' : 'principal = ?3'
  return { condition, values }
}

function toUsage(by: UsageKey, row: Row): UsageRow {
  const { name, principal, agent } = row
  const isOfBoth = by === 'session' || by === 'spending'
  return { name, ...(isOfBoth && { principal, agent }), ...toSum(row) }
}

const toSum = (row: Row | undefined) => ({
  runs: row?.runs ?? 0,
  modelCalls: row?.model_calls ?? 0,
  toolCalls: row?.tool_calls ?? 0,
  tokens: row?.tokens ?? 0,
  inputTokens: row?.input_tokens ?? 0,
  outputTokens: row?.output_tokens ?? 0,
  costNanoUsd: row?.cost ?? 0,
  platform: toPlatform(row?.platform),
  platformNanoUsd: row?.platform_cost ?? 0,
})
