import { expect, it } from 'vitest'
import { createCachedSet } from '../../../src/runtime/catalog/cached-set.ts'

/** A clock that a test sets; a sleep lets waiting work go on and moves the clock unless it stands still. */
function setUp(read: () => Promise<number>, { isFrozen = false } = {}) {
  let nowMs = 1_000_000
  const sleeps: number[] = []
  const clock = {
    nowMs: () => nowMs,
    sleep: async (ms: number) => {
      sleeps.push(ms)
      if (!isFrozen) nowMs += ms
      await Promise.resolve()
    },
  }
  const set = createCachedSet({ clock, read, unavailable: () => new Error('away') })
  return { set, sleeps, setClock: (ms: number) => (nowMs = ms) }
}

it('F29: a set from before the clock was set back gives way to the next read', async () => {
  let value = 1
  const { set, sleeps, setClock } = setUp(async () => value)
  setClock(9_000_000)
  expect(await set.now()).toBe(1)
  value = 2
  setClock(1_000_000)
  sleeps.length = 0
  expect(await set.now()).toBe(2)
  expect(sleeps.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(5_000)
})

it('F29: a read whose object is gone is taken over, also while the clock stands still', async () => {
  let reads = 0
  const never = new Promise<number>(() => {})
  const { set } = setUp(() => (++reads === 1 ? never : Promise.resolve(7)), { isFrozen: true })
  void set.now()
  expect(await set.now()).toBe(7)
  expect(reads).toBe(2)
})
