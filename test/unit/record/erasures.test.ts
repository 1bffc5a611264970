import { describe, expect, it } from 'vitest'
import type { Erasure, ErasurePlace, ErasureStore } from '#features/record/types/operations.ts'
import { createErasures } from '../../../src/features/record/erasure/erasures.ts'

const by = { principal: 'operator', trace: '', requestId: 'req_1' }

/** Places as they are told to be, a clock that is moved by hand, and a table that outlives every worker of the erasure. */
function open(places: readonly ErasurePlace[]) {
  let nowMs = 1_000
  let wakes = 0
  const rows = new Map<string, Erasure>()
  const store: ErasureStore = {
    begin: async (erasure) => (rows.set(erasure.id, erasure), erasure),
    find: async (id) => rows.get(id),
    list: async () => [...rows.values()],
    running: async () => [...rows.values()].filter(({ state }) => state === 'running'),
    save: async (erasure) => void rows.set(erasure.id, erasure),
    finish: async (erasure) => void rows.set(erasure.id, { ...erasure, principal: erasure.id }),
  }
  const make = () =>
    createErasures({
      store,
      places,
      clock: { nowMs: () => nowMs, sleep: async () => {} },
      ids: { next: () => 'erased_1', traceId: () => '' },
      lookHeld: async () => {},
      wake: async () => void (wakes += 1),
      onFault: (error) => {
        throw error
      },
      timing: { quietMs: 60_000, workMs: 15_000 },
    })
  const row = () => rows.get('erased_1')!
  return { make, row, pass: (ms: number) => (nowMs += ms), woken: () => wakes }
}
/** Has so many things, of which each step takes one. */
const placeWith = (name: string, things: number): ErasurePlace => ({
  name,
  erase: async () => {
    if (things === 0) return { erased: 0 }
    things -= 1
    return { erased: 1, ...(things > 0 && { next: things }) }
  },
})

describe('I21: the work of an erasure', () => {
  it('stops after so many steps and goes on at once, however fast they are: an invocation asks a bounded number of times', async () => {
    const { make, row } = open([placeWith('one', 100)])
    await make().begin('ann', by, false)
    expect(await make().work()).toBe(1_100)
    expect(row().progress.erased).toEqual({ one: 40 })
    await make().work()
    await make().work()
    expect(row().progress).toMatchObject({ pass: 2, erased: { one: 100 } })
  })

  it('goes over all places until a whole pass finds nothing, in any number of objects', async () => {
    const { make, row, pass } = open([placeWith('one', 3), placeWith('two', 1)])
    await make().begin('ann', by, false)
    expect(await make().work()).toBe(61_000)
    expect(row()).toMatchObject({ state: 'running', principal: 'ann', progress: { pass: 2 } })
    // Not before its time.
    await make().work()
    expect(row().progress.pass).toBe(2)
    pass(60_000)
    expect(await make().work()).toBeUndefined()
    expect(row()).toMatchObject({ state: 'done', principal: 'erased_1' })
    expect(row().progress.erased).toEqual({ one: 3, two: 1 })
  })

  it('is not done while a place fails, says so without the name, and holds up no other', async () => {
    let isAway = true
    const failing: ErasurePlace = {
      name: 'sessions',
      erase: async () => {
        if (isAway) throw new Error('The session of ann is kept.')
        return { erased: 0 }
      },
    }
    const { make, row, pass } = open([failing, placeWith('two', 1)])
    await make().begin('ann', by, true)
    for (const waitMs of [60_000, 120_000, 240_000]) {
      await make().work()
      expect(row().progress.problems).toEqual({ sessions: 'The session of erased_1 is kept.' })
      pass(waitMs)
    }
    expect(row()).toMatchObject({ state: 'running', askedBy: 'self' })
    expect(row().progress).toMatchObject({ erased: { two: 1 }, tries: 3 })
    isAway = false
    pass(3_600_000)
    await make().work()
    expect(row()).toMatchObject({ state: 'done', progress: { problems: {} } })
  })

  it('the watch wakes an erasure whose alarm was lost, and leaves one that is in time', async () => {
    const { make, pass, woken } = open([])
    await make().begin('ann', by, false)
    expect(woken()).toBe(1)
    await make().watch()
    expect(woken()).toBe(1)
    pass(60_001)
    await make().watch()
    expect(woken()).toBe(2)
  })

  it('the operator key of the deployment belongs to no person', async () => {
    const { make } = open([])
    await expect(make().begin('operator', by, false)).rejects.toMatchObject({
      code: 'request_invalid',
      param: 'principal',
    })
  })
})
