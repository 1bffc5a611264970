import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import { createAuditReader, createAuditSink } from '../../../src/storage/audit-log.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

function event(seq: number, overrides: Partial<SessionEvent> = {}): SessionEvent {
  return {
    seq,
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'aa',
    atMs: 1_790_000_000_000 + seq,
    type: 'tool_finished',
    data: { n: seq, nested: { list: [1, 'two', null] } },
    ...overrides,
  }
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

  it('writes a batch with one statement, and one for the list of sessions', async () => {
    const { database } = createSqliteDatabase()
    let prepared = 0
    const counting = { ...database, prepare: (sql: string) => (prepared++, database.prepare(sql)) }
    await createAuditSink(counting).append(
      owner('ses_a', 'p'),
      batchOf(Array.from({ length: 500 }, (_, i) => event(i + 1))),
    )
    expect(prepared).toBe(2)
  })

  it('does nothing for an empty batch', async () => {
    const { sink, reader } = open()
    await sink.append(owner('ses_a', 'operator'), batchOf([]))
    expect(await reader.query({ limit: 10 })).toEqual({ records: [] })
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
    const second = await reader.query({ limit: 2, after: first.next ?? 0 })
    expect([first, second].map(({ records }) => records.map(({ seq }) => seq))).toEqual([
      [1, 2],
      [3],
    ])
    expect(second.next).toBeUndefined()
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
