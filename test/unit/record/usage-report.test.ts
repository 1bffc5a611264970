import { describe, expect, it } from 'vitest'
import type { EventType, SessionEvent } from '../../../src/contracts/event.ts'
import type { JsonObject } from '../../../src/contracts/json.ts'
import type { UsageKey } from '../../../src/features/record/types/operations.ts'
import type { PlatformAmounts } from '../../../src/contracts/platform.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createDeploymentCount } from '../../../src/features/record/store/deployment-count.ts'
import { createUsageReport } from '../../../src/features/record/store/usage-report.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'
import { storedEvent } from '../../fakes/events.ts'

const all = { sinceMs: 0, untilMs: 1_000, limit: 100 }
const call = (model: string, inputTokens: number, costNanoUsd: number, more: JsonObject = {}) =>
  [
    'model_called',
    { provider: 'p', model, inputTokens, outputTokens: 1, costNanoUsd, ...more },
  ] as const
type Told = readonly [EventType, JsonObject?]

/** Ann talks to one agent that asks another one; Bob only begins. */
async function open(bills: readonly PlatformAmounts[] = []) {
  const { database, sqlite } = createSqliteDatabase()
  const deployment = createDeploymentCount()
  const sink = createAuditSink(database, deployment)
  let atMs = 0
  const append = (session: string, principal: string, agent: string, told: readonly Told[]) => {
    const events = told.map(([type, data = {}], index): SessionEvent => {
      const run = `run_${session}`
      return storedEvent({ seq: index + 1, run, agent, trace: 'aa', atMs: (atMs += 1), type, data })
    })
    return sink.append({ session, principal, sinceMs: 1 }, batchOf(events))
  }
  await append('ses_a', 'ann', 'orchestrator', [
    ['run_started', { principal: 'ann' }],
    call('big', 100, 5_000),
    ['model_failed', { provider: 'p', model: 'big', bookedTokens: 50, bookedCostNanoUsd: 700 }],
    ['model_failed', { provider: 'p', model: 'big', bookedTokens: 0, bookedCostNanoUsd: 0 }],
    ['tool_finished', { tool: 'kv__set', plugin: 'kv' }],
    ['isolate_started', { plugin: 'kv', costNanoUsd: 2_000 }],
    // A delegated run has rows of its own: this event holds their sum, and must not count twice.
    ['agent_result', { usage: { tokens: 11, costNanoUsd: 10 } }],
    ['tool_finished', { tool: 'code-reviewer__run' }],
    ...(bills[0] ? ([['run_parked', { platform: bills[0] }]] as const) : []),
    ['run_finished', { state: 'completed', ...(bills[1] && { platform: bills[1] }) }],
  ])
  await append('ses_b', 'ann', 'code-reviewer', [
    ['run_started', { principal: 'ann' }],
    call('small', 10, 10, { plugin: 'kv' }),
    ...(bills[2] ? ([['run_finished', { platform: bills[2] }]] as const) : []),
  ])
  await append('ses_c', 'bob', 'orchestrator', [['run_started', { principal: 'bob' }]])
  return { report: createUsageReport(database), database, sqlite, deployment, append }
}

const unbilled = { platform: {}, platformNanoUsd: 0 }
const total = {
  ...unbilled,
  runs: 3,
  modelCalls: 3,
  toolCalls: 2,
  tokens: 162,
  inputTokens: 110,
  outputTokens: 2,
  costNanoUsd: 7_710,
}
const delegated = {
  ...unbilled,
  runs: 1,
  modelCalls: 1,
  toolCalls: 0,
  tokens: 11,
  inputTokens: 10,
  outputTokens: 1,
  costNanoUsd: 10,
}
const none = {
  ...unbilled,
  runs: 1,
  modelCalls: 0,
  toolCalls: 0,
  tokens: 0,
  inputTokens: 0,
  outputTokens: 0,
  costNanoUsd: 0,
}
const own = {
  ...unbilled,
  runs: 1,
  modelCalls: 2,
  toolCalls: 2,
  tokens: 151,
  inputTokens: 100,
  outputTokens: 1,
}

describe('the usage report', () => {
  it.each<[UsageKey, object[]]>([
    [
      'principal',
      [
        { ...total, name: 'ann', runs: 2 },
        { ...none, name: 'bob' },
      ],
    ],
    [
      'agent',
      [
        { ...own, name: 'orchestrator', runs: 2, costNanoUsd: 7_700 },
        { ...delegated, name: 'code-reviewer' },
      ],
    ],
    [
      'session',
      [
        { ...own, name: 'ses_a', principal: 'ann', agent: 'orchestrator', costNanoUsd: 7_700 },
        { ...delegated, name: 'ses_b', principal: 'ann', agent: 'code-reviewer' },
        { ...none, name: 'ses_c', principal: 'bob', agent: 'orchestrator' },
      ],
    ],
    [
      'model',
      [
        { ...own, name: 'p/big', toolCalls: 0, costNanoUsd: 5_700 },
        { ...none, name: null, toolCalls: 2, costNanoUsd: 2_000 },
        { ...delegated, name: 'p/small' },
      ],
    ],
    [
      'plugin',
      [
        { ...own, name: null, toolCalls: 1, costNanoUsd: 5_700 },
        { ...delegated, name: 'kv', runs: 2, toolCalls: 1, costNanoUsd: 2_010 },
      ],
    ],
  ])('is told by %s, each call once, dearest first', async (by, rows) => {
    const { report } = await open()
    expect(await report.sum({ ...all, by })).toEqual({ rows, total, deployment: unbilled })
  })

  it('C7: says who spent what on what, and what the platform did for it, each once', async () => {
    const bills = [{ rowsWritten: 3 }, { rowsWritten: 4, alarms: 1 }, { rowsWritten: 5 }]
    const { report } = await open(bills)
    const { rows, total: sum } = await report.sum({ ...all, by: 'spending' })
    const asked = { principal: 'ann', agent: 'orchestrator' }
    const reviewed = { principal: 'ann', agent: 'code-reviewer' }
    expect(rows).toMatchObject([
      { ...asked, name: null, toolCalls: 2, costNanoUsd: 2_000, platformNanoUsd: 8_000 },
      { ...asked, name: 'p/big', costNanoUsd: 5_700, platformNanoUsd: 0 },
      { ...reviewed, name: null, tokens: 0, platform: { rowsWritten: 5 }, platformNanoUsd: 5_000 },
      { ...reviewed, name: 'p/small', costNanoUsd: 10 },
    ])
    for (const key of ['costNanoUsd', 'tokens', 'platformNanoUsd'] as const)
      expect(rows.reduce((all, row) => all + row[key], 0)).toBe(sum[key])
  })

  it.each<[UsageKey]>([['principal'], ['agent'], ['session'], ['model'], ['plugin']])(
    'C7: is told by %s without a look at events, and the same where only they are there',
    async (by) => {
      const { report, sqlite } = await open()
      const told = await report.sum({ ...all, by })
      sqlite.exec(`UPDATE audit_runs SET tally = NULL, starts = NULL, spends = NULL`)
      expect(await report.sum({ ...all, by })).toEqual(told)
      const again = await open()
      again.sqlite.exec(`UPDATE audit_runs SET events = '[]'`)
      expect(await again.report.sum({ ...all, by })).toEqual(told)
    },
  )

  it.each<[UsageKey, object[]]>([
    ['principal', [{ name: 'ann', platform: { rowsWritten: 12, alarms: 1 } }, { name: 'bob' }]],
    [
      'agent',
      [
        { name: 'orchestrator', platform: { rowsWritten: 7, alarms: 1 }, platformNanoUsd: 8_000 },
        { name: 'code-reviewer', platform: { rowsWritten: 5 }, platformNanoUsd: 5_000 },
      ],
    ],
    ['day', [{ name: '1970-01-01', platform: { rowsWritten: 12, alarms: 1 } }]],
    ['model', [{ platform: {} }, { platform: {} }, { platform: {} }]],
  ])('E9: says by %s what the platform was made to do, once', async (by, rows) => {
    const bills = [{ rowsWritten: 3 }, { rowsWritten: 4, alarms: 1 }, { rowsWritten: 5 }]
    const { report, sqlite } = await open(bills)
    const told = await report.sum({ ...all, by })
    expect(told.rows).toMatchObject(rows)
    expect(told.total).toMatchObject({
      platform: { rowsWritten: 12, alarms: 1 },
      platformNanoUsd: 13_000,
    })
    sqlite.exec(`UPDATE audit_runs SET tally = NULL, platform = NULL, platform_nano_usd = NULL`)
    expect(await report.sum({ ...all, by })).toEqual(told)
  })

  it('E9: says what no run made the platform do, carried by the next row of the record', async () => {
    const { report, deployment, append } = await open()
    deployment.count({ kvReads: 2, wakes: 1 })
    await append('ses_d', 'ann', 'orchestrator', [['run_started', { principal: 'ann' }]])
    await append('ses_d', 'ann', 'orchestrator', [['run_started', { principal: 'ann' }]])
    const { deployment: told, total: sum } = await report.sum({ ...all, by: 'principal' })
    expect(told).toEqual({ platform: { kvReads: 2, wakes: 1 }, platformNanoUsd: 1_000 })
    expect(sum.platform).toEqual({})
    expect(deployment.take()).toEqual({})
    const anns = await report.sum({ ...all, by: 'principal', principal: 'ann' })
    expect(anns.deployment).toBeUndefined()
  })

  it('E9: keeps what no run made the platform do for the next row, where one does not land', async () => {
    const { deployment, sqlite, append } = await open()
    deployment.count({ kvReads: 2 })
    sqlite.exec('ALTER TABLE audit_runs RENAME TO gone')
    await expect(append('ses_d', 'ann', 'tester', [['run_started']])).rejects.toThrow('audit_runs')
    expect(deployment.take()).toEqual({ kvReads: 2 })
  })

  it('is of the time that is asked for, and of one principal', async () => {
    const { report } = await open()
    const late = await report.sum({ ...all, by: 'principal', sinceMs: 10 })
    expect(late.total).toMatchObject({ runs: 2, tokens: 11 })
    const early = await report.sum({ ...all, by: 'principal', untilMs: 3 })
    expect(early.total).toMatchObject({ runs: 1, tokens: 101 })
    const bobs = await report.sum({ ...all, by: 'agent', principal: 'bob' })
    expect(bobs).toMatchObject({ rows: [{ name: 'orchestrator' }], total: none })
    const nobodys = await report.sum({ ...all, by: 'agent', principal: 'eve' })
    expect(nobodys).toEqual({ rows: [], total: { ...none, runs: 0 } })
  })

  it('has a total of what is not shown too', async () => {
    const { report } = await open()
    const { rows, total: sum } = await report.sum({ ...all, by: 'session', limit: 1 })
    expect([rows.length, sum]).toEqual([1, total])
  })

  it('is read along the time: not the whole record', async () => {
    const { database, sqlite } = await open()
    const asked: string[] = []
    const watched = {
      ...database,
      prepare: (sql: string) => (asked.push(sql), database.prepare(sql)),
    }
    await createUsageReport(watched).sum({ ...all, by: 'model', principal: 'ann' })
    expect(asked).toHaveLength(2)
    for (const sql of asked)
      expect(planOf(sqlite, sql)).toContain('audit_by_time (at_ms>? AND at_ms<?)')
  })
})
