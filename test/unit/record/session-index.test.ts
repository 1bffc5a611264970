import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import type { SessionCard } from '../../../src/runtime/session/types/audit-sink.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import type { Database } from '../../../src/platform/d1/database.ts'
import { createSessionIndex } from '../../../src/features/record/store/session-index.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'
import { storedEvent } from '../../fakes/events.ts'

function open() {
  const { database, sqlite } = createSqliteDatabase()
  const sink = createAuditSink(database)
  const index = createSessionIndex(database)
  const list = async (query: Partial<Parameters<typeof index.list>[0]> = {}) =>
    (await index.list({ limit: 100, ...query })).sessions.map(({ id }) => id)
  /** A session `ses_<name>` made at `sinceMs`, with its log up to `seq`. */
  const carry = (name: string, sinceMs: number, card: Partial<SessionCard> = {}, seq = 1) =>
    sink.append(ownerOf(name, sinceMs), batchOf([event(seq)], card))
  return { database, sqlite, sink, index, list, carry }
}
const ownerOf = (name: string, sinceMs: number, principal = 'ann') => ({
  session: `ses_${name}`,
  principal,
  sinceMs,
})
const event = (seq: number): SessionEvent =>
  storedEvent({
    seq,
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'aa',
    atMs: seq,
    type: 'tool_finished',
    data: {},
  })

describe('the list of sessions', () => {
  it('has a session as it stood with the last batch of its log', async () => {
    const { carry, index } = open()
    await carry('a', 5, { runs: 1, usedAtMs: 6, state: 'running' }, 3)
    await carry('a', 5, { runs: 2, usedAtMs: 9, state: 'parked', agent: 'code-reviewer' }, 7)
    expect(await index.list({ limit: 10 })).toEqual({
      sessions: [
        {
          id: 'ses_a',
          agent: 'code-reviewer',
          principal: 'ann',
          createdAtMs: 5,
          usedAtMs: 9,
          runs: 2,
          state: 'parked',
          isStateless: false,
        },
      ],
    })
  })

  it('has one that nothing was said in yet', async () => {
    const { sink, index } = open()
    const { agent: _agent, state: _state, ...card } = batchOf([]).card
    await sink.append(ownerOf('a', 5), { events: [], card: { ...card, runs: 0 } })
    const { sessions } = await index.list({ limit: 10 })
    expect(sessions).toMatchObject([{ id: 'ses_a', agent: null, state: null, runs: 0 }])
    expect(await sink.watermark(ownerOf('a', 5))).toBe(0)
  })

  it.each([
    ['a batch that comes twice', { runs: 2, usedAtMs: 9 }, 7],
    ['a batch that comes late', { runs: 1, usedAtMs: 6 }, 3],
    ['one of as many events that is older', { runs: 1, usedAtMs: 8 }, 7],
  ])('never goes back: %s changes nothing', async (_what, card, seq) => {
    const { carry, index } = open()
    await carry('a', 5, { runs: 2, usedAtMs: 9 }, 7)
    await carry('a', 5, card, seq)
    expect((await index.list({ limit: 10 })).sessions).toMatchObject([{ runs: 2, usedAtMs: 9 }])
  })

  it('lets go of a session that is deleted, and keeps one of its name that came later', async () => {
    const { carry, sink, list } = open()
    await carry('a', 5)
    await sink.unlist(ownerOf('a', 5))
    await sink.unlist(ownerOf('a', 5))
    expect(await list()).toEqual([])
    await carry('a', 8)
    await sink.unlist(ownerOf('a', 5)) // the first one's, come late
    await carry('a', 5, { runs: 40 }, 99)
    expect(await list()).toEqual(['ses_a'])
    expect(await sink.watermark(ownerOf('a', 8))).toBe(1)
  })

  it('knows how far a log has come after its events have expired, and asks for all of one that is not listed', async () => {
    const { carry, sink, sqlite } = open()
    await carry('a', 5, {}, 7)
    sqlite.exec('DELETE FROM audit; DELETE FROM audit_runs')
    expect(await sink.watermark(ownerOf('a', 5))).toBe(7)
    expect(await sink.watermark(ownerOf('a', 6))).toBe(-1)
  })

  it('lands with its events or not at all', async () => {
    const { carry, database, sqlite } = open()
    sqlite.exec('ALTER TABLE sessions RENAME TO elsewhere')
    await expect(carry('a', 5)).rejects.toThrow()
    expect(await createAuditReader(database).query({ limit: 10 })).toEqual({ records: [], last: 0 })
  })

  it('shows each once, newest made first, page by page, whatever is used meanwhile', async () => {
    const { carry, index } = open()
    // Two of the same moment: their ids decide.
    for (const [name, sinceMs] of [
      ['a', 1],
      ['b', 2],
      ['c', 2],
      ['d', 3],
      ['e', 4],
    ] as const)
      await carry(name, sinceMs)
    const seen: string[] = []
    let after: NonNullable<Parameters<typeof index.list>[0]['after']> | undefined
    do {
      const page = await index.list({ limit: 2, ...(after && { after }) })
      seen.push(...page.sessions.map(({ id }) => id))
      after = page.next
      await carry('a', 1, { usedAtMs: 99 }, 50)
    } while (after)
    expect(seen).toEqual(['ses_e', 'ses_d', 'ses_c', 'ses_b', 'ses_a'])
  })

  it('leaves out sub-agents, and stateless sessions unless they are asked for', async () => {
    const { carry, list } = open()
    await carry('a', 1)
    await carry('b', 2, { kind: 'child' })
    await carry('c', 3, { kind: 'stateless' })
    expect(await list()).toEqual(['ses_a'])
    expect(await list({ withStateless: true })).toEqual(['ses_c', 'ses_a'])
    await carry('c', 3, { kind: 'named' }, 2) // a client named it later
    expect(await list()).toEqual(['ses_c', 'ses_a'])
  })

  it('filters by principal, agent and state', async () => {
    const { carry, sink, list } = open()
    await carry('a', 1)
    await carry('b', 2, { agent: 'code-reviewer' })
    await carry('c', 3, { state: 'failed' })
    await sink.append(ownerOf('d', 4, 'bob'), batchOf([event(1)]))
    expect(await list({ principal: 'ann' })).toEqual(['ses_c', 'ses_b', 'ses_a'])
    expect(await list({ principal: 'bob' })).toEqual(['ses_d'])
    expect(await list({ agent: 'code-reviewer' })).toEqual(['ses_b'])
    expect(await list({ state: 'failed' })).toEqual(['ses_c'])
    expect(await list({ principal: 'bob', state: 'failed' })).toEqual([])
  })

  it.each([
    ['of a principal', { principal: 'ann' }, 'SEARCH sessions USING INDEX sessions_by_principal'],
    ['of a principal and agent', { principal: 'ann', agent: 'a' }, 'sessions_by_principal'],
    ['of a principal and state', { principal: 'ann', state: 'parked' }, 'sessions_by_principal'],
    ['of everybody', {}, 'sessions_by_age'],
    ['of an agent', { agent: 'a' }, 'SEARCH sessions USING INDEX sessions_by_agent'],
    ['in a state', { state: 'parked' }, 'SEARCH sessions USING INDEX sessions_by_state'],
  ] as const)('F36: finds a page %s by an index', async (_what, query, name) => {
    const { database, sqlite } = createSqliteDatabase()
    const asked: string[] = []
    const index = createSessionIndex({
      ...database,
      prepare: (sql) => (asked.push(sql), database.prepare(sql)),
    })
    for (const more of [{}, { withStateless: true }, { after: { sinceMs: 5, id: 'ses_a' } }])
      await index.list({ limit: 5, ...query, ...more })
    expect(asked).toHaveLength(3)
    for (const sql of asked) {
      const plan = planOf(sqlite, sql)
      expect(plan).toContain(name)
      expect(plan).not.toContain('TEMP B-TREE')
    }
  })

  it('is told from a database that is away', async () => {
    const away = {
      prepare: () => {
        throw new Error('D1_ERROR: Network connection lost.')
      },
    } as unknown as Database
    await expect(createSessionIndex(away).list({ limit: 1 })).rejects.toMatchObject({
      code: 'request_unavailable',
    })
  })
})
