import { afterEach, describe, expect, it, vi } from 'vitest'
import { createCachedSet } from '../../../src/runtime/catalog/cached-set.ts'
import { systemSources } from '../../../src/compose/sources.ts'

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

/** A Catalog that is as far as the test says, and a copy near the isolate. */
function setUpNear({ farMs = 300, nearMs = 10 } = {}) {
  vi.useFakeTimers()
  const far = { value: 7, isAway: false, reads: 0 }
  const near = { value: 7 as number | undefined, reads: 0 }
  const { clock } = systemSources
  const set = createCachedSet({
    clock,
    unavailable: () => new Error('away'),
    async read() {
      far.reads += 1
      const { value, isAway } = far
      await clock.sleep(farMs)
      if (isAway) throw new Error('no answer')
      return value
    },
    near: {
      isOlder: (one, other) => one < other,
      async read() {
        near.reads += 1
        const { value } = near
        await clock.sleep(nearMs)
        return value
      },
    },
  })
  /** The answer and how long it took. */
  const timed = async (ask: () => Promise<number>): Promise<readonly [number, number]> => {
    const begunAtMs = Date.now()
    let found: readonly [number, number] | undefined
    void ask().then((value) => (found = [value, Date.now() - begunAtMs]))
    for (let ms = 0; !found && ms < 10_000; ms += 1) await vi.advanceTimersByTimeAsync(1)
    return found!
  }
  return { set, far, near, timed }
}

afterEach(() => void vi.useRealTimers())

describe('E9: a copy near the isolate', () => {
  it('answers a new isolate at once, and the Catalog replaces it behind the answer', async () => {
    const { set, far, timed } = setUpNear()
    far.value = 8
    expect(await timed(() => set.now())).toEqual([7, 10])
    await vi.advanceTimersByTimeAsync(300)
    expect(await timed(() => set.now())).toEqual([8, 0])
    expect(far.reads).toBe(1)
  })

  it('answers an isolate that paused: by its own set, unless the copy is newer', async () => {
    const { set, far, near, timed } = setUpNear()
    await timed(() => set.latest())
    await vi.advanceTimersByTimeAsync(120_000)
    expect(await timed(() => set.now())).toEqual([7, 10])
    await vi.advanceTimersByTimeAsync(120_000)
    far.value = near.value = 8
    expect(await timed(() => set.now())).toEqual([8, 10])
    expect(near.reads).toBe(2)
  })

  it('never replaces a newer set, neither as copy nor as a late answer', async () => {
    const { set, far, near, timed } = setUpNear()
    far.value = 9
    await timed(() => set.latest())
    await vi.advanceTimersByTimeAsync(120_000)
    near.value = 8
    // The copy is older than what this isolate knows, so the Catalog is waited for.
    expect(await timed(() => set.now())).toEqual([9, 300])
    await vi.advanceTimersByTimeAsync(120_000)
    near.value = 10
    expect(await timed(() => set.now())).toEqual([10, 10])
    await vi.advanceTimersByTimeAsync(300)
    expect(await timed(() => set.now())).toEqual([10, 0])
    // The read that was begun after it is believed: the database may have been restored.
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await timed(() => set.now())).toEqual([9, 0])
  })

  it('is no word of the Catalog: what needs one of the last second asks for it', async () => {
    const { set, far, timed } = setUpNear()
    far.value = 8
    expect(await timed(() => set.now())).toEqual([7, 10])
    const [value, waitedMs] = await timed(() => set.fresh())
    expect(value).toBe(8)
    expect(waitedMs).toBeGreaterThanOrEqual(290)
    const away = setUpNear()
    away.far.isAway = true
    expect(await away.timed(() => away.set.now())).toEqual([7, 10])
    const [refused] = await away.timed(() => away.set.fresh().catch(() => 0))
    expect(refused).toBe(0)
  })

  it('is passed over by the isolate that made a change', async () => {
    const { set, far, timed } = setUpNear()
    await timed(() => set.now())
    await vi.advanceTimersByTimeAsync(300)
    far.value = 8
    set.forget()
    expect(await timed(() => set.now())).toEqual([8, 300])
  })

  it('is no wait where there is none, or where it does not answer', async () => {
    const none = setUpNear()
    none.near.value = undefined
    expect(await none.timed(() => none.set.now())).toEqual([7, 300])
    const slow = setUpNear({ nearMs: 60_000 })
    expect(await slow.timed(() => slow.set.now())).toEqual([7, 300])
  })
})
