import { expect, it } from 'vitest'
import { createDeadlines } from '../../../src/runtime/kernel/deadlines.ts'

/** A clock moved by hand, and how many sleep by it. */
function counted() {
  let nowMs = 0
  const sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>()
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      const sleeper = { atMs: nowMs + ms, wake: resolve }
      sleepers.add(sleeper)
      signal?.addEventListener('abort', () => void (sleepers.delete(sleeper) && resolve()))
    })
  const advance = async (ms: number) => {
    nowMs += ms
    for (const sleeper of sleepers) {
      if (sleeper.atMs <= nowMs && sleepers.delete(sleeper)) sleeper.wake()
    }
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  return { clock: { nowMs: () => nowMs, sleep }, sleeping: () => sleepers.size, advance }
}

it('a call that runs long behind far deadlines keeps one timer, and each of them comes in its time', async () => {
  const { clock, sleeping, advance } = counted()
  const deadlines = createDeadlines(clock)
  const come: string[] = []
  deadlines.after(900_000, () => come.push('run'))
  deadlines.after(60_000, () => come.push('call'))
  for (let looks = 0; looks < 299; looks += 1) {
    deadlines.after(200, () => {})
    await advance(200)
  }
  expect(sleeping()).toBeLessThanOrEqual(1)
  expect(come).toEqual([])
  await advance(200)
  expect(come).toEqual(['call'])
  await advance(840_000)
  expect(come).toEqual(['call', 'run'])
  deadlines.close()
  await advance(0)
  expect(sleeping()).toBe(0)
})

it('a deadline comes after its time also if the clock is set back meanwhile', async () => {
  let nowMs = 10_000
  let wake = () => {}
  const sleep = () => new Promise<void>((resolve) => (wake = resolve))
  const deadlines = createDeadlines({ nowMs: () => nowMs, sleep })
  let hasCome = false
  deadlines.after(200, () => (hasCome = true))
  nowMs = 5_000
  wake()
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(hasCome).toBe(true)
})

it('a short run sets one timer, whatever deadlines its calls have, and a long run misses none', async () => {
  const { clock, sleeping, advance } = counted()
  let timers = 0
  const sleep: typeof clock.sleep = (ms, signal) => ((timers += 1), clock.sleep(ms, signal))
  const deadlines = createDeadlines({ ...clock, sleep })
  const come: string[] = []
  deadlines.after(900_000, () => come.push('run'))
  for (let calls = 0; calls < 10; calls += 1) deadlines.after(7_500, () => come.push('look'))()
  deadlines.after(60_000, () => come.push('call'))
  expect(timers).toBe(1)
  await advance(5_000)
  expect(sleeping()).toBe(1)
  await advance(55_000)
  expect(come).toEqual(['call'])
  await advance(840_000)
  expect(come).toEqual(['call', 'run'])
})

it('a clock that is set back makes no later deadline wait longer', async () => {
  let nowMs = 3_600_000
  let wake = () => {}
  const waits: number[] = []
  const sleep = (ms: number) => (waits.push(ms), new Promise<void>((resolve) => (wake = resolve)))
  const deadlines = createDeadlines({ nowMs: () => nowMs, sleep })
  deadlines.after(60_000, () => {})
  nowMs = 0
  wake()
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(waits).toEqual([5_000, 55_000])
})
