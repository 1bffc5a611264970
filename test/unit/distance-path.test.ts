import { expect, it } from 'vitest'
import { linesAbove } from '../../bench/distance/held.ts'
import { pathTo } from '../../bench/distance/path.ts'
import type { CallRecord } from '../../bench/distance/record.ts'

const farMs = 100
/** A call from one moment to another; a call of an object arrives and leaves half a round trip from them. */
const call = (place: string, name: string, startMs: number, endMs: number): CallRecord => {
  const isNear = name.startsWith('near')
  const to = /^([A-Z]\w+)\./.exec(name)?.[1]
  const halfMs = isNear ? 0 : farMs / 2
  return {
    place,
    name,
    ...(to !== undefined && { to, thereMs: startMs + halfMs, backMs: endMs - halfMs }),
    distanceMs: isNear ? 0 : farMs,
    startMs,
    startOrder: startMs + 0.5,
    endMs,
    endOrder: endMs,
  }
}
const namesOf = (calls: readonly CallRecord[], place: string, ms: number) => {
  const { far, steps } = pathTo(calls, { place, ms }, farMs)
  return [far, ...steps.map((step) => step.call.name)]
}

it('counts calls that wait for each other, and of calls beside each other the last to end', () => {
  const calls = [
    call('worker', 'D1 a', 0, 100),
    call('worker', 'D1 b', 101, 201),
    call('worker', 'D1 beside b', 101, 199),
  ]
  expect(namesOf(calls, 'worker', 205)).toEqual([2, 'D1 a', 'D1 b'])
})

it('leaves out a call that has not ended, and a call of another place', () => {
  const calls = [
    call('worker', 'D1 a', 0, 100),
    call('worker', 'D1 behind the answer', 100, 200),
    call('Catalog', 'D1 of another place', 0, 100),
  ]
  expect(namesOf(calls, 'worker', 105)).toEqual([1, 'D1 a'])
})

it('counts the work of a called object between the way there and the way back, and no other work of that object', () => {
  const calls = [
    call('worker', 'D1 a', 0, 100),
    call('worker', 'Catalog.look', 100, 305),
    call('Catalog', 'D1 inside', 152, 252),
    call('Catalog', 'D1 of another caller', 120, 254),
  ]
  expect(namesOf(calls, 'worker', 310)).toEqual([3, 'D1 a', 'Catalog.look', 'D1 inside'])
})

it('counts half a round trip to an object that is still at work', () => {
  const there = { ...call('worker', 'Session.run', 100, 900), backMs: 850 }
  const calls = [call('worker', 'D1 a', 0, 100), there, call('Session', 'D1 b', 151, 251)]
  expect(namesOf(calls, 'Session', 255)).toEqual([2.5, 'D1 a', 'Session.run', 'D1 b'])
})

it('E9: a count above its bound is told with the names of the calls, and so is a cell without a bound', () => {
  const path = pathTo([call('worker', 'D1 a', 0, 100)], { place: 'worker', ms: 105 }, farMs)
  const measured = {
    cell: { who: 'user', when: 'new', how: 'plain' },
    name: 'user/new/plain',
    asked: path,
    firstToken: undefined,
    answered: path,
    ms: { asked: 105, firstToken: undefined, answered: 105 },
    ownMs: 5,
    calls: [],
  } as const
  expect(linesAbove([measured], { 'user/new/plain': { asked: 1, answered: 1 } })).toEqual([])
  expect(linesAbove([measured], { 'user/new/plain': { asked: 0, answered: 1 } })).toEqual([
    'user/new/plain asked: 1 > 0: D1 a',
  ])
  expect(linesAbove([measured], {})).toEqual([
    'user/new/plain asked: 1 > no bound: D1 a',
    'user/new/plain answered: 1 > no bound: D1 a',
  ])
})
