import { expect, it } from 'vitest'
import type { EventType, SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import {
  createMetricsReport,
  createModelReport,
} from '../../../src/features/record/store/metrics-report.ts'
import { createUsageReport } from '../../../src/features/record/store/usage-report.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { storedEvent } from '../../fakes/events.ts'

const noon = 1_790_000_000_000
let seq = 0
const event = (type: EventType, data: JsonObject, more: Partial<SessionEvent> = {}): SessionEvent =>
  storedEvent({
    seq: (seq += 1),
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'aa',
    atMs: noon,
    type,
    data,
    ...more,
  })
const reviewer = { agent: 'code-reviewer' }
const model = { provider: 'p', model: 'm', durationMs: 10 }

it('C7: counts success, turns, tool errors and latency, tokens and cost, of agents apart', async () => {
  const { database } = createSqliteDatabase()
  await createAuditSink(database).append(
    { session: 'ses_a', principal: 'operator', sinceMs: 1 },
    batchOf([
      event('run_finished', { state: 'completed', turns: 2 }),
      event('run_finished', { state: 'completed', turns: 3 }),
      event('run_finished', { state: 'completed' }),
      event('run_finished', { state: 'failed', turns: 1, code: 'model_auth' }),
      event('run_finished', { state: 'completed', turns: 9 }, { atMs: noon - 1 }),
      event('run_finished', { state: 'stopped', turns: 4 }, reviewer),
      event('model_called', { ...model, inputTokens: 100, outputTokens: 10, costNanoUsd: 7 }),
      event('model_failed', { ...model, code: 'model_network', bookedCostNanoUsd: 700 }),
      event('isolate_started', { plugin: 'kv', costNanoUsd: 2_000 }),
      event(
        'model_called',
        { ...model, inputTokens: 50, outputTokens: 5, costNanoUsd: 3 },
        reviewer,
      ),
      event('tool_finished', { tool: 'kv__get', ok: true, durationMs: 10 }),
      event('tool_finished', { tool: 'kv__get', ok: true, durationMs: 20 }),
      event('tool_finished', { tool: 'kv__get', ok: false, code: 'tool_failed', durationMs: 60 }),
      event('tool_finished', { tool: 'web__get', ok: false, code: 'tool_timeout', durationMs: 5 }),
    ]),
  )
  const report = createMetricsReport(database, createModelReport(database))
  const { agents, tools, models } = await report.since(noon)
  expect(agents).toEqual([
    {
      agent: 'code-reviewer',
      runs: 1,
      states: { stopped: 1 },
      successRate: 0,
      turnsPerRun: 4,
      modelCalls: 1,
      inputTokens: 50,
      outputTokens: 5,
      costNanoUsd: 3,
    },
    {
      agent: 'orchestrator',
      runs: 4,
      states: { completed: 3, failed: 1 },
      successRate: 0.75,
      turnsPerRun: 2,
      modelCalls: 1,
      inputTokens: 100,
      outputTokens: 10,
      costNanoUsd: 2_707,
    },
  ])
  expect(tools).toEqual([
    {
      tool: 'kv__get',
      calls: 3,
      failures: { tool_failed: 1 },
      errorRate: 1 / 3,
      latencyMs: { mean: 30, max: 60 },
    },
    {
      tool: 'web__get',
      calls: 1,
      failures: { tool_timeout: 1 },
      errorRate: 1,
      latencyMs: { mean: 5, max: 5 },
    },
  ])
  expect(models).toMatchObject([{ model: 'm', calls: 2, costNanoUsd: 710 }])
  const spent = await createUsageReport(database).sum({
    by: 'agent',
    sinceMs: noon,
    untilMs: noon + 1,
    limit: 10,
  })
  expect(agents.map(({ agent, costNanoUsd }) => [agent, costNanoUsd]).toReversed()).toEqual(
    spent.rows.map(({ name, costNanoUsd }) => [name, costNanoUsd]),
  )
})

it('C7: adds up what a run did when it is carried, and reads no events then', async () => {
  const { database, sqlite } = createSqliteDatabase()
  const call = { ...model, inputTokens: 100, outputTokens: 10, costNanoUsd: 7 }
  const run = (number: number, state: string) =>
    createAuditSink(database).append(
      { session: `ses_${number}`, principal: 'operator', sinceMs: 1 },
      batchOf(
        [
          event('run_started', { principal: 'operator' }),
          event('model_called', call),
          event('model_called', { ...call, durationMs: 31 }),
          event('model_failed', { ...model, code: 'lost', bookedTokens: 5, bookedCostNanoUsd: 1 }),
          event('model_failed', { ...model, code: 'lost', bookedTokens: 0, bookedCostNanoUsd: 0 }),
          event('tool_finished', { tool: 'kv__get', ok: true, durationMs: 10 }),
          event('tool_finished', { tool: 'kv__get', ok: true, durationMs: 30 }),
          event('tool_finished', {
            tool: 'kv__get',
            ok: false,
            code: 'tool_failed',
            durationMs: 5,
          }),
          event('run_finished', { state, turns: number }),
        ].map((one) => ({ ...one, run: `run_${number}` })),
      ),
    )
  await run(1, 'completed')
  await run(2, 'failed')
  const report = createMetricsReport(database, createModelReport(database))
  const told = await report.since(noon)
  expect(told).toMatchObject({
    agents: [{ runs: 2, successRate: 0.5, turnsPerRun: 1.5, modelCalls: 4, costNanoUsd: 30 }],
    tools: [{ calls: 6, failures: { tool_failed: 2 }, latencyMs: { mean: 15, max: 30 } }],
    models: [{ calls: 4, latencyMs: { mean: 21, max: 31 }, costNanoUsd: 30 }],
  })
  const kept = sqlite.prepare('SELECT id, events FROM audit_runs').all()
  sqlite.exec(`UPDATE audit_runs SET events = '[]'`)
  expect(await report.since(noon)).toEqual(told)
  for (const { id, events } of kept)
    sqlite.prepare('UPDATE audit_runs SET tally = NULL, events = ? WHERE id = ?').run(events!, id!)
  expect(await report.since(noon)).toEqual(told)
})

it('has nothing to say of an empty record', async () => {
  const { database } = createSqliteDatabase()
  const report = createMetricsReport(database, createModelReport(database))
  expect(await report.since(noon)).toEqual({ agents: [], tools: [], models: [] })
})
