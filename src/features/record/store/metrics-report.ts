import type {
  AgentMetrics,
  MetricsReport,
  ModelReport,
  ToolMetrics,
  ModelRecord,
} from '../types/operations.ts'
import { type Database, reached } from '#platform/d1/database.ts'
import { count, maxMs, recentRecords, recentSums, costNanoUsd, withMs } from './report-sql.ts'

const select = `
  SELECT data->>'provider' AS provider, data->>'model' AS model, data->>'code' AS code, sum(${count}) AS count,
    sum(data->>'durationMs') * 1.0 / nullif(sum(${withMs}), 0) AS mean_ms, max(${maxMs}) AS max_ms,
    sum(${costNanoUsd}) AS cost
  FROM ${recentRecords} WHERE type IN ('model_called', 'model_failed')
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

interface Row {
  readonly provider: string
  readonly model: string
  /** `null` for calls that were answered. */
  readonly code: string | null
  readonly count: number
  readonly mean_ms: number | null
  readonly max_ms: number | null
  readonly cost: number
}

/** Counts the model calls on the record (C2). Throws `request_unavailable` while D1 is away. */
export function createModelReport(database: Database): ModelReport {
  return {
    async since(atMs) {
      const { results } = await reached(() => database.prepare(select).bind(atMs).all<Row>())
      const models = new Map<string, ModelRecord>()
      for (const row of results) {
        const key = `${row.provider}/${row.model}`
        models.set(key, withRow(models.get(key) ?? emptyOf(row), row))
      }
      return [...models.values()]
    },
  }
}

const emptyOf = ({ provider, model }: Row): ModelRecord => ({
  provider,
  model,
  calls: 0,
  failures: {},
  costNanoUsd: 0,
})

function withRow(record: ModelRecord, { code, count, mean_ms: mean, max_ms: max, cost }: Row) {
  const sumNanoUsd = record.costNanoUsd + cost
  // A crash of this deployment cut the request: it is paid for, and not the provider's failure.
  if (code === 'lost') return { ...record, costNanoUsd: sumNanoUsd }
  if (code !== null)
    return { ...record, failures: { ...record.failures, [code]: count }, costNanoUsd: sumNanoUsd }
  const latencyMs =
    mean === null || max === null ? {} : { latencyMs: { mean: Math.round(mean), max } }
  return { ...record, ...latencyMs, calls: count, costNanoUsd: sumNanoUsd }
}

const selectRuns = `
  SELECT agent, state AS name, count(*) AS count, sum(turns) AS turns, count(turns) AS counted
  FROM ${recentSums} WHERE state IS NOT NULL
  GROUP BY 1, 2 ORDER BY 1, 2`

const selectSpent = `
  SELECT agent, sum(model_answers) AS count, sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens, sum(cost_nano_usd) AS cost
  FROM ${recentSums} WHERE spends > 0
  GROUP BY 1 ORDER BY 1`

const selectTools = `
  SELECT data->>'tool' AS tool, data->>'code' AS code, sum(${count}) AS count,
    sum(data->>'durationMs') AS sum_ms, max(${maxMs}) AS max_ms
  FROM ${recentRecords} WHERE type = 'tool_finished'
  GROUP BY 1, 2 ORDER BY 1, 2`

interface RunRow {
  readonly agent: string
  readonly name: string
  readonly count: number
  readonly turns: number | null
  /** How many runs state their turns. */
  readonly counted: number
}

interface SpentRow {
  readonly agent: string
  readonly count: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number
}

interface ToolRow {
  readonly tool: string
  /** `null` for calls that succeeded. */
  readonly code: string | null
  readonly count: number
  readonly sum_ms: number | null
  readonly max_ms: number | null
}

/**
 * Counts the work of agents, tools and models (C7) from the newest part of the record, as the model report does.
 * Throws `request_unavailable` while D1 is away.
 */
export function createMetricsReport(database: Database, models: ModelReport): MetricsReport {
  const rowsOf = async <T>(sql: string, atMs: number): Promise<readonly T[]> => {
    const { results } = await reached(() => database.prepare(sql).bind(atMs).all<T>())
    return results
  }
  return {
    async since(atMs) {
      const [runs, spent, tools, served] = await Promise.all([
        rowsOf<RunRow>(selectRuns, atMs),
        rowsOf<SpentRow>(selectSpent, atMs),
        rowsOf<ToolRow>(selectTools, atMs),
        models.since(atMs),
      ])
      return { agents: toAgents(runs, spent), tools: toTools(tools), models: served }
    },
  }
}

function toAgents(runs: readonly RunRow[], spent: readonly SpentRow[]): readonly AgentMetrics[] {
  const names = [...new Set([...runs, ...spent].map(({ agent }) => agent))].toSorted(byName)
  return names.map((agent) => {
    const own = runs.filter((row) => row.agent === agent)
    const bill = spent.find((row) => row.agent === agent)
    const sum = (of: (row: RunRow) => number) => own.reduce((total, row) => total + of(row), 0)
    const counted = sum((row) => row.counted)
    const all = sum((row) => row.count)
    const succeeded = own.find(({ name }) => name === 'completed')?.count ?? 0
    return {
      agent,
      runs: all,
      states: Object.fromEntries(own.map(({ name, count }) => [name, count])),
      ...(all > 0 && { successRate: succeeded / all }),
      ...(counted > 0 && { turnsPerRun: sum((row) => row.turns ?? 0) / counted }),
      modelCalls: bill?.count ?? 0,
      inputTokens: bill?.input_tokens ?? 0,
      outputTokens: bill?.output_tokens ?? 0,
      costNanoUsd: bill?.cost ?? 0,
    }
  })
}

function toTools(rows: readonly ToolRow[]): readonly ToolMetrics[] {
  const names = [...new Set(rows.map(({ tool }) => tool))]
  return names.map((tool) => {
    const own = rows.filter((row) => row.tool === tool)
    const calls = own.reduce((total, { count }) => total + count, 0)
    const failed = own.flatMap(({ code, count }) => (code === null ? [] : [[code, count] as const]))
    const failures = failed.reduce((total, [, count]) => total + count, 0)
    const sumMs = own.reduce((total, row) => total + (row.sum_ms ?? 0), 0)
    return {
      tool,
      calls,
      failures: Object.fromEntries(failed),
      errorRate: failures / calls,
      latencyMs: {
        mean: Math.round(sumMs / calls),
        max: Math.max(...own.map((row) => row.max_ms ?? 0)),
      },
    }
  })
}

const byName = (one: string, other: string) => (one < other ? -1 : 1)
