import type { ModelRecord, ModelReport } from '../types/operations.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/database.ts'
import { costNanoUsd, count, maxMs, recentRecords, withMs } from './report-sql.ts'

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
