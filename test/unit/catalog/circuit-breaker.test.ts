import { expect, it } from 'vitest'
import { createCircuitBreaker } from '../../../src/catalog/circuit-breaker.ts'

const minutes = 60_000
function createWorld() {
  let nowMs = 0
  const breaker = createCircuitBreaker({ nowMs: () => nowMs })
  const note = (hash: string, fault?: string) =>
    breaker.note({ id: 'one', hash, ...(fault !== undefined && { fault }) })
  return {
    wait: (ms: number) => void (nowMs += ms),
    fail: (times: number, hash = 'a') =>
      Array.from({ length: times }, () => note(hash, 'crashed')).filter(Boolean),
    work: (hash = 'a') => note(hash),
  }
}

it('P25: five faults in a row are too many, and it says so', () => {
  const { fail } = createWorld()
  expect(fail(4)).toEqual([])
  expect(fail(1)).toEqual(['It failed 5 times in a row; the last time it crashed.'])
})

it('a call that goes well in between begins anew', () => {
  const { fail, work } = createWorld()
  fail(4)
  work()
  expect(fail(4)).toEqual([])
})

it('each version is counted for itself', () => {
  const { fail } = createWorld()
  fail(4)
  expect(fail(4, 'b')).toEqual([])
})

it('what failed ten minutes ago does not count', () => {
  const { fail, wait } = createWorld()
  fail(4)
  wait(11 * minutes)
  expect(fail(4)).toEqual([])
})
