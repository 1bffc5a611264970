import { describe, expect, it } from 'vitest'
import type { Emitted } from '../../../src/runtime/session/types/audit-sink.ts'
import type { Schedule } from '../../../src/runtime/session/types/schedule.ts'
import type {
  AuditRecord,
  AuditCursor,
  AuditQuery,
} from '../../../src/features/record/types/operations.ts'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import { createDeploymentLog } from '../../../src/platform/d1/deployment-log.ts'
import { createScheduleIndex } from '../../../src/features/schedules/store/schedules.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { scheduleOf } from '../../fakes/schedules.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'
import { storedEvent } from '../../fakes/events.ts'

function event(seq: number, overrides: Partial<AuditRecord> = {}): SessionEvent {
  return storedEvent({
    seq,
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'aa',
    atMs: 1_790_000_000_000 + seq,
    type: 'tool_finished',
    data: { n: seq, nested: { list: [1, 'two', null] } },
    ...overrides,
  })
}

function open() {
  const { database, sqlite } = createSqliteDatabase()
  return { sink: createAuditSink(database), reader: createAuditReader(database), sqlite }
}

const owner = (session: string, principal = 'operator', sinceMs = 1) => ({
  session,
  principal,
  sinceMs,
})

describe('the audit log', () => {
  it('M5: gives back every event with its session and principal', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([event(1), event(2)]))
    const { records } = await reader.query({ limit: 10 })
    expect(records).toEqual(
      [event(1), event(2)].map((one) => ({ ...one, session: 'ses_a', principal: 'operator' })),
    )
  })

  it('lands a batch that arrives twice once, and keeps what came first', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([event(1), event(2)]))
    await sink.append(
      owner('ses_a', 'operator'),
      batchOf([event(2, { data: { forged: true } }), event(3)]),
    )
    const { records } = await reader.query({ session: 'ses_a', limit: 10 })
    expect(records.map(({ seq, data }) => [seq, data['n']])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
  })

  it('M5: keeps both records of a name that was deleted and used again', async () => {
    const { database } = createSqliteDatabase()
    const sink = createAuditSink(database)
    await sink.append(owner('ses_a', 'operator', 1), batchOf([event(1), event(2)]))
    const again = owner('ses_a', 'operator', 2)
    expect(await sink.watermark(again)).toBe(-1)
    await sink.append(again, batchOf([event(1)]))
    const { records } = await createAuditReader(database).query({ session: 'ses_a', limit: 10 })
    expect(records.map(({ seq }) => seq)).toEqual([1, 2, 1])
  })

  it('has a watermark for each session', async () => {
    const { sink } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([event(1), event(2)]))
    expect(await sink.watermark(owner('ses_a'))).toBe(2)
    expect(await sink.watermark(owner('ses_b'))).toBe(-1)
  })

  it('writes a batch with one statement, however many runs it is of', async () => {
    const { database } = createSqliteDatabase()
    let prepared = 0
    const counting = { ...database, prepare: (sql: string) => (prepared++, database.prepare(sql)) }
    await createAuditSink(counting).append(
      owner('ses_a', 'p'),
      batchOf(Array.from({ length: 500 }, (_, i) => event(i + 1, { run: `run_${i % 7}` }))),
    )
    // Two for the list of sessions.
    expect(prepared).toBe(3)
  })

  it('asks what the record has only where a batch wrote nothing', async () => {
    const { database } = createSqliteDatabase()
    const sent: number[] = []
    let questions = 0
    const sink = createAuditSink({
      prepare: (sql) => ((questions += sql.startsWith('SELECT') ? 1 : 0), database.prepare(sql)),
      batch: (statements) => (sent.push(statements.length), database.batch(statements)),
    })
    await sink.append(owner('ses_a'), batchOf([event(1)]))
    await sink.append(owner('ses_a'), batchOf([event(2), event(3)]))
    expect({ sent, questions }).toEqual({ sent: [3, 3], questions: 0 })
    await sink.append(owner('ses_a'), batchOf([event(2), event(3)]))
    expect({ sent, questions }).toEqual({ sent: [3, 3, 3], questions: 1 })
    await sink.append(owner('ses_a'), batchOf([event(3), event(4)]))
    expect({ sent, questions }).toEqual({ sent: [3, 3, 3, 3, 3], questions: 2 })
    expect(await sink.watermark(owner('ses_a'))).toBe(4)
  })

  it('does nothing for an empty batch', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([]))
    expect(await reader.query({ limit: 10 })).toEqual({ records: [], last: 0 })
  })

  it('finds a trace across sessions', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([event(1), event(2, { trace: 'bb' })]))
    await sink.append(owner('ses_b', 'operator'), batchOf([event(1, { trace: 'bb' })]))
    const { records } = await reader.query({ trace: 'bb', limit: 10 })
    expect(records.map(({ session, seq }) => [session, seq])).toEqual([
      ['ses_a', 2],
      ['ses_b', 1],
    ])
    expect((await reader.query({ trace: 'bb', session: 'ses_b', limit: 10 })).records).toHaveLength(
      1,
    )
  })

  it('pages with a cursor that ends', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([event(1), event(2), event(3)]))
    const first = await reader.query({ limit: 2 })
    const second = await reader.query({ limit: 2, after: first.next! })
    expect([first, second].map(({ records }) => records.map(({ seq }) => seq))).toEqual([
      [1, 2],
      [3],
    ])
    expect(second.next).toBeUndefined()
    // What arrives later is found behind it, and nothing else.
    await sink.append(owner('ses_b'), batchOf([event(1)]))
    const later = await reader.query({ limit: 2, after: { id: second.last } })
    expect(later.records.map(({ session }) => session)).toEqual(['ses_b'])
  })

  it('shows the newest first, page by page, whenever it arrived', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a'), batchOf([event(4), event(5)]))
    await sink.append(owner('ses_b'), batchOf([event(1), event(2), event(3)]))
    const { last } = await reader.query({ limit: 500 })
    const seqs: number[][] = []
    for (let after: AuditCursor | undefined; ;) {
      const page = await reader.query({ order: 'desc', limit: 2, ...(after && { after }) })
      seqs.push(page.records.map(({ seq }) => seq))
      expect(page.last).toBe(last)
      if (!page.next) break
      after = page.next
    }
    expect(seqs).toEqual([[5, 4], [3, 2], [1]])
  })

  const of = (seq: number, more: Partial<AuditRecord>) => event(seq, more)
  it.each([
    [{ principal: 'ann' }, [1, 2, 3]],
    [{ principal: 'ann', agent: 'code-reviewer' }, [3]],
    [{ type: 'tool_*' }, [1, 2, 11]],
    [{ type: 'tool_started' }, [1]],
    [{ plugin: 'kv' }, [2, 11]],
    [{ plugin: 'kv', principal: 'bob' }, [11]],
    [{ sinceMs: 1_790_000_000_003 }, [3, 10, 11]],
    [{ sinceMs: 1_790_000_000_002, untilMs: 1_790_000_000_011 }, [2, 3, 10]],
  ] satisfies [Omit<AuditQuery, 'limit'>, number[]][])('finds by %j', async (query, seqs) => {
    const { sink, reader } = open()
    const kv = { data: { plugin: 'kv' } }
    await sink.append(
      owner('ses_a', 'ann'),
      batchOf([
        of(1, { type: 'tool_started' }),
        of(2, kv),
        of(3, { type: 'model_called', agent: 'code-reviewer' }),
      ]),
    )
    await sink.append(owner('ses_b', 'bob'), batchOf([of(10, { type: 'run_started' }), of(11, kv)]))
    for (const order of ['asc', 'desc'] as const) {
      const { records } = await reader.query({ ...query, order, limit: 10 })
      const found = records.map(({ seq }) => seq)
      expect(order === 'asc' ? found : found.toReversed()).toEqual(seqs)
    }
  })

  it('has with a session what an operator did to it', async () => {
    const { database } = createSqliteDatabase()
    await createAuditSink(database).append(owner('ses_a', 'ann'), batchOf([event(1)]))
    const log = createDeploymentLog(database)
    for (const session of ['ses_a', 'ses_b'])
      await log.append({
        type: 'session_deleted',
        principal: 'ops',
        trace: '',
        atMs: 1,
        data: { session, owner: 'ann', step: 'done' },
      })
    const { records } = await createAuditReader(database).query({ session: 'ses_a', limit: 10 })
    expect(records.map(({ type, principal }) => [type, principal])).toEqual([
      ['tool_finished', 'ann'],
      ['session_deleted', 'ops'],
    ])
  })

  it('reads no further back than it is asked, and sorts nothing but few rows', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const asked: string[] = []
    const watched = {
      ...database,
      prepare: (sql: string) => (asked.push(sql), database.prepare(sql)),
    }
    const reader = createAuditReader(watched)
    const after = { id: 1, atMs: 1 }
    const plansOf = async (query: Omit<AuditQuery, 'limit'>) => {
      asked.length = 0
      await reader.query({ ...query, limit: 5 })
      const plans = asked.slice(1).map((sql) => planOf(sqlite, sql))
      for (const plan of plans) expect(plan, JSON.stringify(query)).not.toMatch(/SCAN (r|audit)$/m)
      return plans
    }
    const byTime = [
      'INDEX audit_by_time',
      'r USING INTEGER PRIMARY KEY',
      'INDEX audit_runs_off_time',
    ]
    const byId = ['audit USING INTEGER PRIMARY KEY', 'r USING INTEGER PRIMARY KEY']
    const search = { principal: 'ann', type: 'tool_*', plugin: 'kv', sinceMs: 1 }
    for (const query of [{}, search, { ...search, after }, { sinceMs: 1, untilMs: 2 }]) {
      const [reach, page] = await plansOf({ ...query, order: 'desc' })
      for (const index of byTime) for (const plan of [reach, page]) expect(plan).toContain(index)
      // What it finds is in order but for the events of one row; the page sorts as far as it reaches.
      expect(reach).not.toMatch(/(INDEX audit_by_time.*|INDEX 1:)\nUSE TEMP B-TREE FOR ORDER BY/)
      expect(reach).toContain('FOR LAST TERM OF ORDER BY')
    }
    const [along] = await plansOf({ ...search, after: { id: 1 } })
    for (const index of byId) expect(along).toContain(index)
    expect(along).not.toContain('off_time')
    const [since] = await plansOf(search)
    for (const index of byTime) expect(since).toContain(index)
    for (const query of [{ trace: 'aa' }, { session: 'ses_a' }])
      for (const order of ['asc', 'desc'] as const)
        for (const plan of await plansOf({ ...query, sinceMs: 1, order })) {
          expect(plan).not.toContain('audit_by_time')
          expect(plan).not.toContain('PRIMARY KEY')
          expect(plan).toContain(`audit_runs_by_${Object.keys(query)[0]}`)
        }
    // What operators did to it is a part of the deployment's log: no reason to read all of that.
    const [followed] = await plansOf({ session: 'ses_a', after: { id: 1 } })
    expect(followed).toContain('USING INDEX audit_about_session (<expr>=?)')
  })

  it('splits what is too large for one bound value, and marks an event that fits no row', async () => {
    const { sink, reader } = open()
    const large = 'x'.repeat(300_000)
    await sink.append(
      owner('ses_a', 'operator'),
      batchOf([
        event(1, { data: { large } }),
        event(2, { data: { large } }),
        event(3, { data: { large: large + large } }),
      ]),
    )
    const { records } = await reader.query({ limit: 10 })
    expect(records.map(({ data }) => Object.keys(data))).toEqual([
      ['large'],
      ['large'],
      ['oversizeChars'],
    ])
  })

  it('keeps text that looks like SQL, quotes and surrogates as it is', async () => {
    const { sink, reader } = open()
    const data = { text: `'); DROP TABLE audit; -- " \u0000 \ud83d\ude00 \ud800` }
    await sink.append(owner('ses_a', `o'p`), batchOf([event(1, { data })]))
    const { records } = await reader.query({ session: 'ses_a', limit: 1 })
    expect(records[0]).toMatchObject({ principal: `o'p`, data })
  })

  it('answers by trace from an index', () => {
    const { sqlite } = open()
    const plan = sqlite
      .prepare(
        `EXPLAIN QUERY PLAN SELECT * FROM audit WHERE id > 0 AND trace = 'a' ORDER BY id LIMIT 5`,
      )
      .all()
    expect(JSON.stringify(plan)).toContain('audit_by_trace')
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })
})

describe('a batch that is only for the record without a subscription', () => {
  const emitted = (name: string, more: object = {}) =>
    ({ id: 'ses_a:1', name, principal: 'ada', payload: {}, ...more }) as unknown as Emitted
  async function opened(listed: Partial<Schedule> & { readonly event: string }) {
    const { database, sqlite } = createSqliteDatabase()
    const { event: pattern, ...more } = listed
    const when = { event: pattern, of: 'own', ttlMs: 1, maxDepth: 4 } as const
    const schedule = scheduleOf({ when }, { id: 'sub_0000000000000000000001', ...more })
    const { id, owner: keeper, version } = schedule
    await createScheduleIndex(database).tell([{ id, owner: keeper, version, schedule, events: [] }])
    const sink = createAuditSink(database)
    const rows = () => sqlite.prepare('SELECT count(*) AS n FROM audit_runs').get()?.['n']
    const of = owner('ses_a', 'ada')
    const append = (unheard: readonly Emitted[]) =>
      sink.append(of, { ...batchOf([event(1), event(2)]), unheard })
    return { append, rows, sink, of }
  }

  it('F10: lands in one go with the question, and not at all where one of them is wanted', async () => {
    const { append, rows, sink, of } = await opened({ event: 'shop.paid' })
    await expect(append([emitted('shop.opened'), emitted('shop.paid')])).rejects.toThrow()
    expect([rows(), await sink.watermark(of)]).toEqual([0, -1])
    await append([emitted('shop.opened'), emitted('isola.run_finished')])
    expect([rows(), await sink.watermark(of)]).toEqual([1, 2])
  })

  it('N12: is of no interest to a subscription of another principal, unless the event is public', async () => {
    const listed = { event: 'shop.*', asker: { principal: 'bob' }, owner: 'principal:bob' } as const
    const { append, rows } = await opened(listed)
    await append([emitted('shop.paid')])
    expect(rows()).toBe(1)
    await expect(append([emitted('shop.paid', { isPublic: true })])).rejects.toThrow()
  })
})
