import { describe, expect, it } from 'vitest'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { loopIn } from '../../../src/runtime/session/runs/review.ts'

const callOf = (tool: string, key: string, output: string): CallRecord => ({
  id: `${tool} ${key}`,
  name: tool,
  tool,
  input: { key },
  definitionHash: '',
  isRepeatable: true,
  startedAtMs: 0,
  outcome: { ok: true, output },
})
const turnsOf = (...calls: readonly CallRecord[]): TurnRecord[] =>
  calls.map((call, index) => ({
    turn: index + 1,
    steps: [],
    calls: [call],
    modelCalls: [],
    usage: zeroUsage,
    events: [],
    isDone: true,
  }))
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

describe('a loop of calls', () => {
  it('I12: is suspected at the fifth call that is the same with the same result, not before', () => {
    const same = (count: number) => turnsOf(...times(count, () => callOf('read', 'a', 'x')))
    expect(loopIn(same(4), 5)).toBeUndefined()
    expect(loopIn(same(5), 5)).toEqual({ calls: ['read'], rounds: 5 })
    expect(loopIn(same(5), 0)).toBeUndefined()
  })

  it('I12: is none where the arguments, the tool or the result differ', () => {
    const vary = (make: (index: number) => CallRecord) => loopIn(turnsOf(...times(9, make)), 5)
    expect(vary((index) => callOf('read', String(index), 'x'))).toBeUndefined()
    expect(vary((index) => callOf('read', 'a', String(index)))).toBeUndefined()
    expect(vary((index) => callOf(`read${index}`, 'a', 'x'))).toBeUndefined()
  })

  it('I12: may have several calls, in the same order each time', () => {
    const round = ['read', 'list', 'look']
    const calls = times(15, (index) => callOf(round[index % 3]!, 'a', 'x'))
    expect(loopIn(turnsOf(callOf('write', 'b', 'y'), ...calls), 5)).toEqual({
      calls: round,
      rounds: 5,
    })
    expect(loopIn(turnsOf(...calls.slice(1)), 5)).toBeUndefined()
  })

  it('I12: may be within one turn, whose calls were made beside each other', () => {
    const oneTurn = (...calls: readonly CallRecord[]) => [{ ...turnsOf(calls[0]!)[0]!, calls }]
    const same = (count: number) => times(count, () => callOf('read', 'a', 'x'))
    expect(loopIn(oneTurn(...same(5)), 5)).toEqual({ calls: ['read'], rounds: 5 })
    expect(loopIn(oneTurn(...same(4)), 5)).toBeUndefined()
    expect(loopIn([...oneTurn(...same(3)), ...oneTurn(...same(2))], 5)).toMatchObject({ rounds: 5 })
    const others = times(5, (index) => callOf('read', String(index), 'x'))
    expect(loopIn(oneTurn(...others), 5)).toBeUndefined()
    // What else was asked for last may have brought something new.
    expect(loopIn(oneTurn(...same(5), callOf('list', 'a', 'x')), 5)).toBeUndefined()
  })

  it('I12: begins anew when a person says something', () => {
    const turns = turnsOf(...times(6, () => callOf('read', 'a', 'x')))
    const said = { role: 'user', text: 'Go on.', taint: ['user'] } as const
    const heard = turns.map((turn) => (turn.turn === 4 ? { ...turn, received: [said] } : turn))
    expect(loopIn(heard, 5)).toBeUndefined()
  })
})
