import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import type { TurnRecord } from '../../../src/runtime/kernel/types/journal.ts'
import { toAgentResult } from '../../../src/runtime/kernel/types/agent-result.ts'
import { zeroUsage, plusPlatform } from '../../../src/contracts/lease.ts'
import type { PlatformAmounts } from '../../../src/contracts/platform.ts'
import { createRunBill } from '../../../src/runtime/session/runs/run-bill.ts'
import { storedEvent } from '../../fakes/events.ts'

/** Counts by hand what an object's storage would. */
function createHandMeter() {
  let counted: PlatformAmounts = {}
  let isOwed = false
  const take = () => {
    const taken = counted
    counted = {}
    return taken
  }
  return {
    take,
    count: (more: PlatformAmounts) => void (counted = plusPlatform(counted, more)),
    owe: () => void (isOwed = true),
    paid: () => void (isOwed = false),
    leftover: () => (isOwed ? {} : take()),
  }
}

const event = (type: 'run_finished' | 'run_parked', seq = 1): SessionEvent =>
  storedEvent({
    seq,
    run: 'run_1',
    agent: 'tester',
    trace: 't',
    atMs: 1,
    type,
    data: type === 'run_parked' ? { pauses: [] } : { state: 'completed', turns: 1 },
  })

const turnOf = (turn: number, events: readonly SessionEvent[] = []): TurnRecord => ({
  turn,
  steps: [],
  calls: [],
  modelCalls: [],
  usage: zeroUsage,
  events,
  isDone: true,
  ...(events.at(-1)?.type === 'run_finished' && { final: finalOf() }),
})

const finalOf = () => toAgentResult({ ...ended, turns: [] })
const ended = {
  run: 'run_1',
  session: 'ses_1',
  trace: 't',
  startedAtMs: 0,
  agent: { id: 'tester', provenance: { template: '', version: '' } },
  ending: { state: 'completed', result: '' },
  finishedAtMs: 1,
} as const

const billOf = (meter: ReturnType<typeof createHandMeter>, turns: readonly TurnRecord[] = []) =>
  createRunBill({ meter, turns, kind: () => 'named', isListed: () => true })

const rowsOf = (turn: TurnRecord) => turn.platform?.rowsWritten ?? 0
const toldBy = (turn: TurnRecord) =>
  (turn.events.at(-1)?.data as { platform?: PlatformAmounts } | undefined)?.platform?.rowsWritten

describe('E9: what a run is billed', () => {
  it('is booked in the row that is written anyway, each count once', () => {
    const meter = createHandMeter()
    const bill = billOf(meter)
    meter.count({ rowsWritten: 2 })
    expect(rowsOf(bill.into(turnOf(1)))).toBe(2)
    meter.count({ rowsWritten: 1 })
    expect(rowsOf(bill.into(turnOf(1)))).toBe(3)
    const usage = bill.into(turnOf(2)).usage
    expect(usage.platform?.rowsWritten ?? 0).toBe(0)
  })

  it('holds what surely follows its end, which is then counted against it and not twice', () => {
    const meter = createHandMeter()
    const last = billOf(meter).into(turnOf(1, [event('run_finished')]))
    expect(last.platform).toMatchObject({ rowsWritten: 1, alarms: 1, d1RowsWritten: 4 })
    meter.count({ rowsWritten: 1, alarms: 1, d1RowsWritten: 4 })
    expect(meter.take()).toEqual({})
  })

  it('gives what followed beyond that to the next bill', () => {
    const meter = createHandMeter()
    billOf(meter).into(turnOf(1, [event('run_finished')]))
    meter.count({ rowsWritten: 3, alarms: 1, d1RowsWritten: 4 })
    expect(meter.leftover()).toEqual({})
    meter.paid()
    expect(meter.leftover()).toEqual({ rowsWritten: 2 })
  })

  it('is told once, in parts, where a run waits in between and is taken up again', () => {
    const meter = createHandMeter()
    meter.count({ rowsWritten: 5 })
    const parked = billOf(meter).into({ ...turnOf(1, [event('run_parked')]), isDone: false })
    expect(toldBy(parked)).toBe(6)
    meter.take()
    meter.count({ rowsWritten: 2 })
    const resumed = billOf(meter, [parked])
    const last = resumed.into({
      ...parked,
      events: [...parked.events, event('run_finished', 2)],
      final: finalOf(),
    })
    expect(toldBy(last)).toBe(3)
    expect(rowsOf(last)).toBe(9)
    expect(last.usage.platform?.rowsWritten).toBe(9)
  })

  it('E1: the cost of parking and waking a turn without a step makes no turn the dearest', () => {
    const meter = createHandMeter()
    const usual = billOf(meter).turnNanoUsd()
    let parked: TurnRecord = { ...turnOf(1), isDone: false }
    for (let park = 1; park <= 9; park += 1) {
      meter.count({ rowsRead: 100, rowsWritten: 9 })
      const bill = billOf(meter, park === 1 ? [] : [parked])
      parked = bill.into({ ...parked, events: [...parked.events, event('run_parked', park)] })
      expect(bill.turnNanoUsd()).toBe(usual)
    }
    // With a step the turn is as expensive as each time that it was worked on.
    const step = { type: 'finish', message: 'done' } as const
    expect(billOf(meter, [{ ...parked, steps: [step] }]).turnNanoUsd()).toBe(usual)
    meter.count({ rowsWritten: 1_000 })
    const dear = billOf(meter).into({ ...turnOf(1), steps: [step] })
    expect(billOf(meter, [dear]).turnNanoUsd()).toBeGreaterThan(10 * usual)
  })

  it('E1: says what it will be if it is parked now, and books nothing with that', () => {
    const meter = createHandMeter()
    const bill = billOf(meter)
    meter.count({ rowsWritten: 7 })
    const turn = turnOf(1, [event('run_parked')])
    const [reckoned] = bill.ifParked([turn])
    const booked = bill.into(turn).usage.platformNanoUsd!
    expect(reckoned!.usage.platformNanoUsd).toBeGreaterThanOrEqual(booked)
    expect(reckoned!.usage.platformNanoUsd! - booked).toBeLessThan(1_000)
    expect(reckoned!.platform).toBeUndefined()
  })

  it('costs in all what its turns cost, to the billionth', () => {
    const bill = billOf(createHandMeter())
    const usage = { ...zeroUsage, timeMs: 1 }
    const first = bill.into({ ...turnOf(1), usage })
    const last = bill.into({ ...turnOf(2, [event('run_finished')]), usage })
    const costs = [first, last].map((turn) => turn.usage.platformNanoUsd ?? 0)
    expect(last.final!.usage.platformNanoUsd).toBe(costs[0]! + costs[1]!)
  })

  it('is booked again where the row could not be written', () => {
    const meter = createHandMeter()
    const bill = billOf(meter)
    meter.count({ rowsWritten: 2, requests: 1 })
    bill.into(turnOf(1, [event('run_finished')]))
    bill.undo()
    expect(meter.take()).toEqual({ rowsWritten: 2, requests: 1 })
  })
})
