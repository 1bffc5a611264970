import { expect, it } from 'vitest'
import type { EventType, SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createModelReport } from '../../../src/features/record/store/metrics-report.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'
import { storedEvent } from '../../fakes/events.ts'

const noon = 1_790_000_000_000
let seq = 0
const event = (type: EventType, data: JsonObject, atMs = noon): SessionEvent =>
  storedEvent({
    seq: (seq += 1),
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'aa',
    atMs,
    type,
    data,
  })
const a = { provider: 'first', model: 'a' }

it('C2: counts calls, failures by code, latency and cost of each model', async () => {
  const { database } = createSqliteDatabase()
  await createAuditSink(database).append(
    { session: 'ses_a', principal: 'operator', sinceMs: 1 },
    batchOf([
      event('model_called', { ...a, durationMs: 100, costNanoUsd: 5 }),
      event('model_called', { ...a, durationMs: 301, costNanoUsd: 6 }),
      event('model_failed', {
        ...a,
        durationMs: 9_000,
        code: 'model_timeout',
        bookedCostNanoUsd: 700,
      }),
      // A crash of ours: paid for, and no failure of the provider.
      event('model_failed', { ...a, durationMs: 0, code: 'lost', bookedCostNanoUsd: 1_000 }),
      event('model_failed', { ...a, durationMs: 10, code: 'model_rate_limited' }),
      event('model_failed', { ...a, durationMs: 10, code: 'model_rate_limited' }),
      event('model_failed', { provider: 'second', model: 'b', durationMs: 1, code: 'model_auth' }),
      event('tool_finished', { ok: true, durationMs: 77 }),
      event('model_called', { ...a, durationMs: 1, costNanoUsd: 1 }, noon - 1),
    ]),
  )
  expect(await createModelReport(database).since(noon)).toEqual([
    {
      provider: 'first',
      model: 'a',
      calls: 2,
      failures: { model_rate_limited: 2, model_timeout: 1 },
      latencyMs: { mean: 201, max: 301 },
      costNanoUsd: 1_711,
    },
    { provider: 'second', model: 'b', calls: 0, failures: { model_auth: 1 }, costNanoUsd: 0 },
  ])
  expect(await createModelReport(createSqliteDatabase().database).since(noon)).toEqual([])
})

it('reads along the time, as many of the newest records as it may', async () => {
  const { database, sqlite } = createSqliteDatabase()
  const asked: string[] = []
  const watched = {
    ...database,
    prepare: (sql: string) => (asked.push(sql), database.prepare(sql)),
  }
  await createModelReport(watched).since(noon)
  const plan = planOf(sqlite, asked[0]!)
  expect(plan).toContain('audit_by_time (at_ms>?)')
  // The ids of rows are times.
  expect(plan).toContain('SEARCH r USING INTEGER PRIMARY KEY (rowid>?)')
  expect(plan).toContain('audit_runs_off_time (to_ms>?)')
  expect(plan).not.toMatch(/SCAN audit\b/)
  // Only the rows that the indexes found are scanned.
  expect(plan.match(/SCAN r\b/g)).toHaveLength(plan.match(/CO-ROUTINE r\b/g)!.length)
  expect(plan).not.toContain('FOR ORDER BY')
})
