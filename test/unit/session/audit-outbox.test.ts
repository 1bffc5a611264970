import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '#contracts/event.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { AuditBatch } from '#runtime/session/types/audit-sink.ts'
import { createSessionStore } from '../../../src/runtime/session/storage/store.ts'
import { createAuditOutbox } from '../../../src/runtime/session/upkeep/audit-outbox.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createFakeClock } from '../../fakes/kernel.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const turnsPerRun = 4
const eventsPerTurn = 5

/** A session with so many runs, and what its outbox reads of them to carry them all. */
function opened(runs: number) {
  const { storage } = createSessionWorld({ script: () => ({ text: 'hi' }) })
  const read = { rows: 0, most: 0 }
  const counting = {
    ...storage,
    sql: {
      exec: (...given: Parameters<SqlStorage['exec']>) => {
        const cursor = storage.sql.exec(...given)
        const bodies = cursor.toArray().filter((row) => 'body' in row)
        read.rows += cursor.toArray().length
        read.most = Math.max(read.most, bodies.length)
        return cursor
      },
    },
  } as unknown as DurableObjectStorage
  const store = createSessionStore(counting)
  store.writeSession({ id: 'ses_1', agent: 'tester', principal: 'operator', createdAtMs: 1 })
  let seq = 0
  const event = (run: string): SessionEvent => ({
    seq: (seq += 1),
    run,
    agent: 'tester',
    trace: '',
    atMs: seq,
    type: 'tool_log',
    data: { call: 'call_1' },
  })
  const writeTurn = (order: number, turn: number, events: readonly SessionEvent[]) =>
    store.writeTurn(order, {
      turn,
      steps: [],
      calls: [],
      modelCalls: [],
      usage: zeroUsage,
      events: [...events],
      isDone: true,
    })
  const events = (order: number) =>
    Array.from({ length: eventsPerTurn }, () => event(`run_${order}`))
  for (let order = 1; order <= runs; order += 1) {
    const submission = { agent: 'tester', principal: 'operator', messages: [], trace: '' }
    const row = { id: `run_${order}`, order, submission, bodyHash: '', createdAtMs: order }
    store.writeRun({ ...row, wakeTurn: 0, wakes: 0, startSeq: (seq += 1), startedAtMs: seq })
    for (let turn = 1; turn <= turnsPerRun; turn += 1) writeTurn(order, turn, events(order))
  }
  const taken: SessionEvent[] = []
  const batches: AuditBatch[] = []
  let isAway = false
  const outbox = createAuditOutbox({
    store,
    clock: createFakeClock(),
    note: async (_events, append) => append(),
    cardOf: () => batchOf([]).card,
    live: { isIdle: () => true },
    sink: {
      async append(_owner, batch) {
        if (isAway) throw new Error('D1_ERROR: Network connection lost.')
        batches.push(batch)
        taken.push(...batch.events)
      },
      watermark: async () => taken.at(-1)?.seq ?? -1,
      unlist: async () => {},
    },
  })
  return {
    store,
    outbox,
    taken,
    batches,
    read,
    events,
    writeTurn,
    lastSeq: () => seq,
    away: (is: boolean) => void (isAway = is),
  }
}

/** The rows read to carry everything, after an outage. */
async function rowsToCarry(runs: number) {
  const { outbox, taken, read, lastSeq, away, batches } = opened(runs)
  away(true)
  expect(await outbox.flush()).toBe(false)
  away(false)
  Object.assign(read, { rows: 0, most: 0 })
  expect(await outbox.flush()).toBe(true)
  expect(outbox.isEmpty()).toBe(true)
  expect(taken.map(({ seq }) => seq)).toEqual(Array.from({ length: lastSeq() }, (_, at) => at + 1))
  return {
    ...read,
    batches: batches.length,
    largest: Math.max(...batches.map(({ events }) => events.length)),
  }
}

describe('the outbox of the record', () => {
  it('F36: reads a backlog once, a few rows at a time, however long it is', async () => {
    const few = await rowsToCarry(20)
    const many = await rowsToCarry(200)
    expect(many.rows).toBeLessThanOrEqual(11 * few.rows)
    expect(many.most).toBeLessThanOrEqual(64)
    expect(many.largest).toBeLessThanOrEqual(200)
    expect(many.batches).toBeLessThan(40)
  })

  it('M5: carries a turn that went on after later runs in the order in which it happened', async () => {
    const { outbox, taken, writeTurn, events, lastSeq, away } = opened(3)
    const first = events(1)
    writeTurn(1, turnsPerRun + 1, first)
    writeTurn(2, turnsPerRun + 1, events(2))
    away(true)
    await outbox.flush()
    away(false)
    writeTurn(1, turnsPerRun + 1, [...first, ...events(1)])
    expect(await outbox.flush()).toBe(true)
    expect(taken.map(({ seq }) => seq)).toEqual(
      Array.from({ length: lastSeq() }, (_, at) => at + 1),
    )
  })

  it('F10: lets no fault of the storage escape', async () => {
    const { store, outbox } = opened(1)
    const failing = createAuditOutbox({
      store: {
        ...store,
        session: () => {
          throw new Error('SQLITE_IOERR: disk I/O error')
        },
      },
      clock: createFakeClock(),
      note: async (_events, append) => append(),
      cardOf: () => batchOf([]).card,
      live: { isIdle: () => true },
      sink: { append: async () => {}, watermark: async () => -1, unlist: async () => {} },
    })
    expect(await failing.flush()).toBe(false)
    expect(await outbox.flush()).toBe(true)
  })
})
