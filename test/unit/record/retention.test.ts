import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import type { Incident } from '../../../src/runtime/session/types/principal.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createDeploymentLog } from '../../../src/platform/d1/deployment-log.ts'
import {
  createRetention,
  type RetentionOptions,
} from '../../../src/features/record/store/retention.ts'
import { batchOf as batch } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'
import { deploymentEventOf, storedEvent } from '../../fakes/events.ts'

const batchOf: typeof batch = (events, card) => batch(events, { usedAtMs: nowMs, ...card })
const dayMs = 86_400_000
const nowMs = 1_000 * dayMs
const keep = { keepNamedMs: 90 * dayMs, keepStatelessMs: 3_600_000, keepDraftsMs: 30 * dayMs }

function open(options: Partial<RetentionOptions> = {}) {
  const { database, sqlite } = createSqliteDatabase()
  const told: Incident[] = []
  const run = createRetention({
    database,
    clock: { nowMs: () => nowMs },
    keepAuditMs: 365 * dayMs,
    keep,
    tell: async (incident) => void told.push(incident),
    ...options,
  })
  const sink = createAuditSink(database)
  const all = (sql: string) =>
    sqlite
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(' '))
  const events = () => all('SELECT session, seq FROM audit_events ORDER BY id')
  return { database, sqlite, told, run, sink, all, events }
}
const owner = (session: string) => ({ session, principal: 'ann', sinceMs: 1 })
const event = (seq: number, ageDays: number, more: object = {}): SessionEvent =>
  storedEvent({
    seq,
    run: `run_${seq}`,
    agent: 'orchestrator',
    trace: 'aa',
    atMs: nowMs - ageDays * dayMs,
    type: 'tool_finished',
    data: {},
    ...more,
  })

describe('retention of the record', () => {
  it('deletes what is older, the beginning of each log and nothing in between', async () => {
    const { run, sink, events, told } = open()
    await sink.append(owner('a'), batchOf([event(1, 400), event(2, 399)]))
    await sink.append(owner('b'), batchOf([event(1, 398), event(2, 10)]))
    // Its clock was wrong: what came before it is still there, so it stays.
    await sink.append(owner('a'), batchOf([event(3, 500), event(4, 9)]))
    await run()
    expect(events()).toEqual(['b 2', 'a 3', 'a 4'])
    expect(told).toEqual([{ kind: 'retention_failed', session: '', message: '', isOver: true }])
  })

  it('keeps the newest row of all and the newest of the deployment, whose numbers go on from them', async () => {
    const { database, run, sink, events, sqlite } = open()
    const log = createDeploymentLog(database)
    const login = { type: 'login_failed', principal: '', trace: '', atMs: 1, data: {} }
    for (const _ of [1, 2, 3]) await log.append(deploymentEventOf(login))
    await sink.append(owner('a'), batchOf([event(1, 400), event(2, 400)]))
    await run()
    expect(events()).toEqual([' 3', 'a 2'])
    const last = sqlite.prepare('SELECT max(id) AS id FROM audit_runs').get()?.['id']
    await log.append(deploymentEventOf(login))
    expect(events()).toEqual([' 3', 'a 2', ' 4'])
    const next = sqlite.prepare('SELECT max(id) AS id FROM audit').get()?.['id']
    expect(next).toBeGreaterThan(Number(last))
  })

  it('sends nothing again that has expired', async () => {
    const { run, sink } = open()
    await sink.append(owner('a'), batchOf([event(1, 400), event(2, 400)]))
    await sink.append(owner('b'), batchOf([event(1, 1)]))
    await run()
    expect(await sink.watermark(owner('a'))).toBe(2)
  })

  it('keeps everything for ever if that is what is set', async () => {
    const { database, sink, events } = open()
    await sink.append(owner('a'), batchOf([event(1, 4_000), event(2, 1)]))
    await createRetention({
      database,
      clock: { nowMs: () => nowMs },
      keep,
      tell: async () => {},
    })()
    expect(events()).toEqual(['a 1', 'a 2'])
  })

  it('goes in batches with a bound, says when that was not enough, and goes on the next time', async () => {
    const { run, sink, events, told } = open({ batchRows: 3, batchRuns: 3, maxBatches: 5 })
    const log = Array.from({ length: 10 }, (_, at) => event(at + 1, 400))
    await sink.append(owner('a'), batchOf([...log, event(11, 1)]))
    await run()
    expect(events()).toEqual(['a 7', 'a 8', 'a 9', 'a 10', 'a 11'])
    expect(told.at(-1)).toMatchObject({
      kind: 'retention_failed',
      message: expect.stringContaining('next goes on'),
    })
    await run()
    await run()
    expect(events()).toEqual(['a 11'])
    expect(told.at(-1)).toMatchObject({ isOver: true })
  })

  it('takes bundles away in steps with a bound, and goes on the next time', async () => {
    let left = 7
    const collect = async () => (left > 0 ? ((left -= 1), 1) : 0)
    const { run, told } = open({ collect, maxBatches: 5 })
    await run()
    expect(left).toBe(2)
    expect(told.at(-1)?.message).toContain('next goes on')
    await run()
    expect(left).toBe(0)
    expect(told.at(-1)).toMatchObject({ isOver: true })
  })

  it('tells an incident when the database fails, and throws nothing', async () => {
    const { run, sqlite, told } = open()
    sqlite.exec('DROP TABLE audit')
    await run()
    expect(told).toMatchObject([
      { kind: 'retention_failed', message: expect.stringContaining('no such table: audit') },
    ])
    const nobody = open({ tell: async () => Promise.reject(new Error('away')) })
    nobody.sqlite.exec('DROP TABLE audit')
    await expect(nobody.run()).resolves.toBeUndefined()
  })
})

describe('retention of the other tables', () => {
  it('N12: takes a run off the list of given-up ones once it was decided about or its session is gone', async () => {
    const { run, sink, all, sqlite } = open()
    const data = { state: 'failed', code: 'run_given_up', message: 'Too often.' }
    const givenUp = (seq: number, ageDays: number) =>
      event(seq, ageDays, { type: 'run_finished', data })
    await sink.append(owner('a'), batchOf([givenUp(1, 400), givenUp(2, 400), givenUp(3, 10)]))
    await sink.append(owner('b'), batchOf([givenUp(4, 400)]))
    await sink.unlist(owner('b'))
    sqlite.exec(`UPDATE given_up_runs SET state = 'dropped' WHERE run IN ('run_1', 'run_3')`)
    await run()
    expect(all('SELECT run, state FROM given_up_runs ORDER BY run')).toEqual([
      'run_2 open',
      'run_3 dropped',
    ])
  })

  it('takes off the list of sessions what should have taken itself off a month ago', async () => {
    const { run, sink, all } = open()
    for (const [session, kind, ageDays] of [
      ['a', 'named', 121],
      ['b', 'named', 119],
      ['c', 'stateless', 31],
      ['d', 'stateless', 29],
      ['e', 'child', 121],
    ] as const)
      await sink.append(owner(session), batchOf([], { kind, usedAtMs: nowMs - ageDays * dayMs }))
    await run()
    expect(all('SELECT id FROM sessions ORDER BY id')).toEqual(['b', 'd'])
  })

  it('F36: reads no table as a whole for what is to go', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const asked: string[] = []
    const { run } = open({
      database: { ...database, prepare: (sql) => (asked.push(sql), database.prepare(sql)) },
    })
    await run()
    const plans = asked.map((sql) => planOf(sqlite, sql))
    expect(plans).toHaveLength(8)
    const [sessions, givenUp, events, runs, approvals, rules, drafts, writings] = plans
    expect(drafts).toMatch(/INDEX skill_drafts_by_state \(state=\? AND last_at_ms<\?\)/)
    expect(writings).toMatch(/INDEX skill_draft_writings_by_draft \(draft=\? AND at_ms<\?\)/)
    expect(approvals).toMatch(/INDEX approvals_by_state \(state=\? AND at_ms<\?\)/)
    expect(rules).toMatch(/INDEX approval_rules_by_end \(expires_at_ms<\?\)/)
    expect(sessions).toMatch(/INDEX sessions_unnamed_by_month \(used_month<\?\)/)
    expect(sessions).toMatch(/INDEX sessions_by_month \(used_month<\?\)/)
    expect(givenUp?.match(/INDEX given_up_runs_by_state \(state=\? AND at_ms<\?\)/g)).toHaveLength(
      2,
    )
    expect(sessions + givenUp!).not.toMatch(/SCAN (sessions|given_up_runs)/)
    // In the order of their ids, as far as its limit.
    expect(events! + runs!).not.toContain('TEMP B-TREE')
  })
})
