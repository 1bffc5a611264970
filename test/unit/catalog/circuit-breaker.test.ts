import { expect, it } from 'vitest'
import { createCircuitBreaker } from '../../../src/runtime/catalog/circuit-breaker.ts'

const minutes = 60_000
function createWorld(principals = 1) {
  let nowMs = 0
  const breaker = createCircuitBreaker({ nowMs: () => nowMs })
  const note = (hash: string, principal: string, fault?: string) =>
    breaker.note({ id: 'one', hash, principal, ...(fault !== undefined && { fault }) }, principals)
  return {
    wait: (ms: number) => void (nowMs += ms),
    fail: (times: number, hash = 'a', principal = 'alice') =>
      Array.from({ length: times }, () => note(hash, principal, 'crashed')),
    work: (hash = 'a', principal = 'alice') => note(hash, principal),
  }
}
const forAll = (noted: readonly { readonly all?: string }[]) =>
  noted.flatMap(({ all }) => all ?? [])
const forOne = (noted: readonly { readonly own?: object }[]) =>
  noted.flatMap(({ own }) => own ?? [])

it('P25: five faults in a row are too many, and it says so', () => {
  const { fail } = createWorld()
  expect(forAll(fail(4))).toEqual([])
  expect(forAll(fail(1))).toEqual(['It failed 5 times in a row; the last time it crashed.'])
})

it('a call that goes well in between begins anew', () => {
  const { fail, work } = createWorld()
  fail(3)
  work()
  expect(forAll(fail(4))).toEqual([])
})

it('each version is counted for itself', () => {
  const { fail } = createWorld()
  fail(4)
  expect(forAll(fail(4, 'b'))).toEqual([])
})

it('a fault of ten minutes ago does not count', () => {
  const { fail, wait } = createWorld()
  fail(4)
  wait(11 * minutes)
  expect(forAll(fail(4))).toEqual([])
})

it('P25: one principal of several switches a plugin off for itself alone, however often it fails', () => {
  for (const principals of [2, 3, 50, Infinity]) {
    const { fail } = createWorld(principals)
    const noted = fail(100)
    expect(forAll(noted)).toEqual([])
    expect(forOne(noted.slice(0, 4))).toEqual([])
    expect(forOne(noted)[0]).toEqual({
      why: 'It failed 5 times in a row for you; the last time it crashed.',
      offUntilMs: 10 * minutes,
    })
    expect(forOne(fail(4, 'a', 'bob'))).toEqual([])
  }
})

it('P25: it is off for every principal where it fails for three, or for all there are', () => {
  const two = createWorld(2)
  two.fail(50)
  expect(forAll(two.fail(1, 'a', 'bob'))).toEqual([])
  expect(forAll(two.fail(1, 'a', 'bob'))).toHaveLength(1)
  const many = createWorld(9)
  many.fail(50)
  expect(forAll(many.fail(50, 'a', 'bob'))).toEqual([])
  expect(forAll(many.fail(1, 'a', 'carol'))).toEqual([
    'It failed 101 times in a row, for 3 callers; the last time it crashed.',
  ])
})

it('a success of one principal is no reason to let another go on failing', () => {
  const { fail, work } = createWorld(9)
  fail(4)
  work('a', 'bob')
  expect(forOne(fail(1))).toHaveLength(1)
  work('a', 'alice')
  expect(forOne(fail(4))).toEqual([])
})
