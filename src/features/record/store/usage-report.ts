import { defined } from '#contracts/defined.ts'
import { platformCostNanoUsd } from '#runtime/session/types/platform-usage.ts'
import type {
  PlatformSum,
  UsageKey,
  UsageQuery,
  UsageReport,
  UsageRow,
  UsageSum,
} from '../types/operations.ts'
import { type Database, reached } from '#platform/d1/database.ts'
import { platformSums, toPlatform } from '#platform/d1/platform-sql.ts'
import { othersBetween, spendingBetween, sumsBetween } from './report-sql.ts'

/**
 * The column that a report groups by. Spending of a sub-agent is recorded by the sub-agent's session alone, so each
 * amount counts once.
 */
const names: Readonly<Record<UsageKey, string>> = {
  principal: 'principal',
  agent: 'agent',
  session: 'session',
  day: `strftime('%Y-%m-%d', at_ms / 1000, 'unixepoch')`,
  model: `iif(type IN ('model_called', 'model_failed'), data->>'provider' || '/' || (data->>'model'), NULL)`,
  plugin: `data->>'plugin'`,
  // The model's name for spending on a model; NULL for other spending.
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
/** Two kinds of rows: spending by model, and the platform's work with no model. No amount is in both. */
const spendingByModel = `(
  SELECT principal, agent, run, ${names.model} AS model, ${countedSums.join(', ')},
    0 AS platform_nano_usd, NULL AS platform
  FROM ${spendingBetween}
  UNION ALL
  SELECT principal, agent, run, NULL, ${countedSums.map(() => '0').join(', ')},
    platform_nano_usd, platform
  FROM ${sumsBetween} WHERE platform IS NOT NULL)`

/** A run that only began counts for its principal, agent and session, but for no model and no plugin. */
const sourceOf = (by: UsageKey): string =>
  by === 'spending'
    ? spendingByModel
    : by === 'model' || by === 'plugin'
      ? spendingBetween
      : sumsBetween

const sums = `
  count(DISTINCT run) AS runs,
  coalesce(sum(model_calls), 0) AS modelCalls,
  coalesce(sum(tool_calls), 0) AS toolCalls,
  coalesce(sum(input_tokens + output_tokens + booked_tokens), 0) AS tokens,
  coalesce(sum(input_tokens), 0) AS inputTokens,
  coalesce(sum(output_tokens), 0) AS outputTokens,
  coalesce(sum(cost_nano_usd), 0) AS costNanoUsd,
  coalesce(sum(platform_nano_usd), 0) AS platformNanoUsd,
  ${platformSums} AS platform`

/** The platform's work belongs to the run, and to no model and no plugin. */
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
      return 'costNanoUsd + platformNanoUsd DESC, tokens DESC, toolCalls DESC, principal, agent, name'
    default:
      return 'costNanoUsd DESC, tokens DESC, toolCalls DESC, name'
  }
}

const selectTotal = (condition: string) => `
  SELECT NULL AS name, ${sums}
  FROM ${sumsBetween} WHERE ${condition} AND ${hasSome('session')}`

interface Row extends Omit<UsageSum, 'platform'> {
  readonly name: string | null
  readonly principal: string
  readonly agent: string
  readonly platform: string | null
}

/**
 * Adds up spending since a moment from the record, whether or not the principal's day is limited. Amounts booked for
 * calls that a crash cut are only in the run's own figures.
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
          // The platform's work without a run belongs to no principal.
          query.principal === undefined ? readOthers(database, query) : undefined,
        ])
        // Sums without groups are one row, whatever they are of.
        const { name: _none, platform, ...sum } = total!
        return {
          rows: rows.map((row) => toUsage(query.by, row)),
          total: { ...sum, platform: toPlatform(platform) },
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
  const { name, principal, agent, platform, ...sum } = row
  const isOfBoth = by === 'session' || by === 'spending'
  return { name, ...(isOfBoth && { principal, agent }), ...sum, platform: toPlatform(platform) }
}
