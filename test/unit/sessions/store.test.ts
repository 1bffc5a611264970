import { describe, expect, it } from 'vitest'
import type { TurnRecord } from '#contracts/journal.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { createSessionStore, type RunRow } from '../../../src/sessions/storage/store.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const opened = () => {
  const { storage, sqlite, failWhere } = createSessionWorld({ script: () => ({ text: 'hi' }) })
  const store = createSessionStore(storage)
  store.writeSession({ id: 'ses_1', agent: 'tester', principal: 'operator', createdAtMs: 1 })
  return { storage, sqlite, failWhere, store }
}
const runAt = (order: number, more: Partial<RunRow> = {}): RunRow => ({
  id: `run_${order}`,
  order,
  submission: { agent: 'tester', principal: 'operator', messages: [], trace: '' },
  bodyHash: '',
  createdAtMs: order,
  wakeTurn: 0,
  wakes: 0,
  ...more,
})
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
    store.writeRun(runAt(1))
    for (const chars of [1_300_000, 700_000, 10]) store.writeTurn(1, turnWith(chars))
    const fresh = createSessionStore(storage)
    expect(fresh.turns(1)).toEqual([turnWith(10)])
    expect(fresh.isDamaged(1)).toBe(false)
  })
})
