import { describe, expect, it } from 'vitest'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { createSessionStore } from '../../../src/runtime/session/storage/store.ts'
import { runAt, turnOf } from '../../fakes/stored-runs.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const opened = () => {
  const { storage, sqlite, failWhere } = createSessionWorld({ script: () => ({ text: 'hi' }) })
  const store = createSessionStore(storage)
  store.writeSession({ id: 'ses_1', agent: 'tester', principal: 'operator', createdAtMs: 1 })
  return { storage, sqlite, failWhere, store }
}
const turnWith = (chars: number): TurnRecord => ({
  turn: 1,
  steps: [{ type: 'message', message: 'x'.repeat(chars) }],
  calls: [],
  modelCalls: [],
  usage: zeroUsage,
  events: [],
  isDone: false,
})

describe('a row of the log', () => {
  it('F36: of a turn stays readable when the turn becomes shorter than its parts', () => {
    const { storage, store } = opened()
    store.addRun(runAt(1))
    for (const chars of [1_300_000, 700_000, 10]) store.writeTurn(1, turnWith(chars))
    const fresh = createSessionStore(storage)
    expect(fresh.turns(1)).toEqual([turnWith(10)])
    expect(fresh.isDamaged(1)).toBe(false)
  })
})

describe('a run', () => {
  const key = 'run_0123456789ABCDEFGHIJKL'

  it('is found by its id, also one from a key, and one that runs behind it were written before', () => {
    const { storage, store } = opened()
    const rows = [runAt(1), runAt(2, { id: key }), runAt(3)]
    for (const order of [1, 3, 2]) store.addRun(rows[order - 1]!)
    for (const one of [store, createSessionStore(storage)]) {
      expect(rows.map(({ id }) => one.findRun(id))).toEqual(rows)
      expect(one.findRun(runAt(4).id)).toBeUndefined()
      expect(one.findRun(`${runAt(3).id.slice(0, -6)}x00003`)).toBeUndefined()
    }
  })

  it('of an id that tells its place or of a first one needs no second row', () => {
    const { sqlite, store } = opened()
    store.addRun(runAt(1, { id: key }))
    for (const order of [2, 3]) store.addRun(runAt(order))
    expect(sqlite.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'run_index'`).all()).toEqual([])
  })

  it('I12: that waits is found after a wake, however many came after it; a run that is over is not', () => {
    const { storage, store } = opened()
    for (let order = 1; order <= 60; order += 1) {
      store.addRun(runAt(order))
      if (order === 2 || order === 5) store.keepOpen(order)
      else if (order < 59) store.writeTurn(order, turnOf(order))
    }
    store.writeTurn(5, turnOf(5))
    const fresh = createSessionStore(storage)
    expect(fresh.unfinishedRuns().map(({ order }) => order)).toEqual([2, 59, 60])
    expect(fresh.final(5)).toEqual(turnOf(5).final)
  })

  it('I16: that went on late has its events in the log once, behind those of later runs', () => {
    const { storage, store } = opened()
    for (const order of [1, 2, 3]) {
      store.addRun(runAt(order))
      if (order > 1) store.writeTurn(order, turnOf(order))
    }
    const late = (seq: number) =>
      turnOf(1, { events: turnOf(1).events.map((event, at) => ({ ...event, seq: seq + at })) })
    store.writeTurn(1, late(10))
    store.writeTurn(1, { ...late(10), events: [...late(10).events, ...late(12).events] })
    for (const one of [store, createSessionStore(storage)]) {
      expect(one.lastSeq()).toBe(13)
      const seqs = (from: number) =>
        one
          .rowsAt(one.placesAfter(from))
          .flatMap((row) =>
            row.kind === 'run' ? row.run.startSeq : row.turn.events.map(({ seq }) => seq),
          )
      expect(seqs(9)).toEqual([10, 11, 12, 13])
      expect(seqs(0).toSorted((a, b) => a! - b!)).toEqual([1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    }
    expect(storage.sql.exec('SELECT * FROM run_index').toArray()).toEqual([
      { kind: 'late', key: 13, value: 1 },
    ])
  })

  it('leaves nothing of a write that was taken back, neither stored nor remembered', () => {
    const { store, failWhere } = opened()
    store.addRun(runAt(1))
    failWhere((query) => query.includes('INTO run_index'))
    expect(() => store.addRun(runAt(2, { id: key }))).toThrow('SQLITE_FULL')
    failWhere(() => false)
    expect([store.lastOrder(), store.lastSeq(), store.findRun(key)]).toEqual([1, 1, undefined])
    store.addRun(runAt(2, { id: key }))
    expect(store.findRun(key)?.order).toBe(2)
  })
})
