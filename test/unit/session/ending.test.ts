import { describe, expect, it } from 'vitest'
import {
  deleteSession,
  removeRows,
  createEnding,
} from '../../../src/runtime/session/upkeep/ending.ts'
import { createRetention } from '../../../src/runtime/session/upkeep/recovery.ts'
import { createSessionWorld, session } from '../../switches/session-world.ts'
import type { WorldOptions } from '../../switches/session-world.ts'
import { runAt, turnOf } from '../../fakes/stored-runs.ts'
import { agentSpec } from '../../fakes/kernel.ts'
import type { Lineage } from '#runtime/session/types/submission.ts'

const answers = { script: () => ({ text: 'hi' }) }
const dayMs = 86_400_000
const childrenOf = (run: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    session: `ses_child_${run}_${index}`,
    place: 1_000_000_000 + index, // of its first turn
    call: `call_${index}`,
    agent: 'reviewer',
    isBackground: false,
  }))

describe('a session with very many children', () => {
  it('I12: is deleted a few of them at a time', async () => {
    let underWay = 0
    let most = 0
    const { wake, runtime } = createSessionWorld({
      ...answers,
      others: {
        async delete() {
          most = Math.max(most, (underWay += 1))
          await new Promise((resolve) => setImmediate(resolve))
          underWay -= 1
          return { ok: true, value: { deleted: true } }
        },
      },
    })
    const life = wake()
    await life.run()
    life.children.add(1, childrenOf(1, 200))
    await deleteSession('operator', life, runtime)
    expect(most).toBe(16)
    expect(life.store.session()).toBeUndefined()
  })

  it('I12: is deleted from where it was left, if that was cut short', async () => {
    const deleted: string[] = []
    let left = 40
    const world = createSessionWorld(answers)
    const { wake, runtime } = world
    const sessions: WorldOptions['others'] = {}
    Object.assign(runtime.sessions, {
      at: (id: string) => ({
        ...sessions,
        async delete() {
          if ((left -= 1) < 0) throw new Error('injected')
          deleted.push(id)
          return { ok: true, value: { deleted: true } }
        },
      }),
    })
    const life = wake()
    await life.run()
    life.children.add(1, childrenOf(1, 100))
    await expect(deleteSession('operator', life, runtime)).rejects.toThrow('injected')
    left = 1_000
    await deleteSession('operator', wake(), runtime)
    expect(deleted).toHaveLength(100)
    expect(new Set(deleted).size).toBe(100)
  })

  it('I10: settles what its runs have spent a few at a time', async () => {
    let underWay = 0
    let most = 0
    const { wake, runtime } = createSessionWorld(answers)
    const life = wake()
    for (let run = 0; run < 70; run += 1) await life.run()
    Object.assign(runtime.principals, {
      async settle() {
        most = Math.max(most, (underWay += 1))
        await new Promise((resolve) => setImmediate(resolve))
        underWay -= 1
      },
    })
    await deleteSession('operator', life, runtime)
    expect(most).toBe(8)
  })
})

describe('a session whose runs have a limit a day', () => {
  const runs = 200
  /** A session whose object may ask others only so often until it is woken again. */
  const limited = async () => {
    const world = createSessionWorld(answers)
    const life = world.wake()
    for (let run = 0; run < runs; run += 1) await life.run()
    const told: string[] = []
    let left = 0
    Object.assign(world.runtime.principals, {
      async settle({ run }: { readonly run: string }) {
        if ((left -= 1) < 0) throw new Error('Too many subrequests.')
        told.push(run)
      },
    })
    return { ...world, told, allow: (count: number) => void (left = count) }
  }

  it('I10: is deleted although it has more runs than can be settled at one go, each attempt from where the last one ended', async () => {
    const { wake, runtime, told, allow } = await limited()
    let attempts = 0
    for (let isDeleted = false; !isDeleted && attempts < 20; attempts += 1) {
      allow(50)
      const deleting = deleteSession('operator', wake(), runtime)
      isDeleted = await deleting.then(
        () => true,
        () => false,
      )
    }
    expect(wake().store.session()).toBeUndefined()
    expect(new Set(told).size).toBe(runs)
    expect(attempts).toBeLessThan(10)
  })

  it('I10: is not looked at again where it was settled, though its object ended without a word', async () => {
    const { wake, runtime, told, allow } = await limited()
    allow(runs)
    const life = wake()
    let steps = 0
    const rest = () =>
      (steps += 1) === 20 ? Promise.reject(new Error('killed')) : Promise.resolve()
    await expect(deleteSession('operator', { ...life, rest }, runtime)).rejects.toThrow()
    const before = told.length
    allow(runs)
    await deleteSession('operator', wake(), runtime)
    expect(told.length - before).toBeLessThan(runs - before + 64)
    expect(new Set(told).size).toBe(runs)
  })

  it('I10: is settled up to its end when it went on after an attempt that failed', async () => {
    const { wake, runtime, told, allow } = await limited()
    allow(150)
    await expect(deleteSession('operator', wake(), runtime)).rejects.toThrow()
    allow(runs)
    const life = wake()
    const { id } = await life.run()
    told.length = 0
    await deleteSession('operator', life, runtime)
    expect(told).toContain(id)
  })
})

describe('the end of a session', () => {
  const ending = (world: ReturnType<typeof createSessionWorld>) => {
    const current = { parts: world.wake(), answering: 1 }
    const empties: Promise<void>[] = []
    const made = createEnding({
      runtime: world.runtime,
      current,
      reopen: () => void (current.parts = world.wake()),
      later: (work) => void empties.push(work),
      deleteAll: async () => {},
    })
    return { ...made, life: () => current.parts }
  }

  it('I12: is once, also if it is asked for again meanwhile: all are answered with its result', async () => {
    let deletions = 0
    const world = createSessionWorld({
      ...answers,
      others: {
        async delete() {
          deletions += 1
          await new Promise((resolve) => setImmediate(resolve))
          return { ok: true, value: { deleted: true } }
        },
      },
    })
    const first = world.wake()
    await first.run()
    first.children.add(1, childrenOf(1, 3))
    const { forget, isDeleting, life } = ending(world)
    await Promise.all([forget('operator'), forget('operator'), forget('operator')])
    expect(deletions).toBe(3)
    expect([isDeleting(), life().store.session()]).toEqual([false, undefined])
  })

  it('I12: leaves an object that begins anew although a timer of the old one could not be cancelled', async () => {
    const world = createSessionWorld(answers)
    await world.wake().run()
    const { forget, isDeleting, life } = ending(world)
    world.failTimers('cancel')
    await forget('operator')
    expect(isDeleting()).toBe(false)
    expect(life().store.session()).toBeUndefined()
    life().store.writeSession({
      id: session,
      agent: 'tester',
      principal: 'operator',
      createdAtMs: 0,
    })
    expect((await life().run()).state).toBe('completed')
    // A timer that is left finds nothing to do.
    expect(await world.wake().upkeep.onJob('recover')).toBeUndefined()
  })

  it('I12: comes at the fourth attempt where its rows could not be removed three times', async () => {
    const world = createSessionWorld(answers)
    const before = world.wake()
    for (let run = 0; run < 100; run += 1) await before.run()
    before.store.close()
    const { vanish, isDeleting } = ending(world)
    world.failWhere((query) => query.includes('DELETE FROM log'))
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await expect(vanish()).rejects.toThrow('SQLITE_FULL')
      expect(isDeleting()).toBe(true)
    }
    world.failWhere(() => false)
    await vanish()
    expect(isDeleting()).toBe(false)
    const tables = `SELECT name FROM sqlite_master WHERE type = 'table'`
    expect(world.sqlite.prepare(tables).all()).toEqual([])
  })
})

describe('a session that is large', () => {
  /** Of which half a megabyte of each run. */
  const large = async () => {
    const world = createSessionWorld(answers)
    const life = world.wake()
    await life.run()
    for (let order = 2; order <= 60; order += 1) {
      life.store.addRun(runAt(order))
      const final = { ...turnOf(order).final!, result: 'x'.repeat(500_000) }
      life.store.writeTurn(order, turnOf(order, { final }))
    }
    Object.assign(world.storage.sql, { databaseSize: 100_000_000 })
    return { ...world, life }
  }
  const leftIn = (sqlite: Awaited<ReturnType<typeof large>>['sqlite']) => {
    const query = 'SELECT count(*) AS rows, sum(octet_length(body)) AS bytes FROM log'
    const { rows, bytes } = sqlite.prepare(query).get()!
    return { rows: Number(rows), bytes: Number(bytes) }
  }

  it('I12: is removed in steps, each of a few megabytes, and looks absent from the first one on', async () => {
    const { life, runtime, sqlite, wake } = await large()
    const counts: ReturnType<typeof leftIn>[] = []
    await deleteSession(
      'operator',
      {
        ...life,
        rest: async () => {
          if (!life.store.isClosed()) return
          counts.push(leftIn(sqlite))
          expect(wake().store.session()).toBeUndefined()
        },
      },
      runtime,
    )
    expect(counts.length).toBeGreaterThan(5)
    counts.reduce((before, after) => {
      expect(before.rows - after.rows).toBeLessThanOrEqual(256)
      expect(before.bytes - after.bytes).toBeLessThan(6_000_000)
      return after
    })
    expect(sqlite.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()).toEqual([])
  })

  it('I12: is removed to the end although its object ended meanwhile, and begins no other session before that', async () => {
    const { life, runtime, sqlite, wake, timers } = await large()
    let steps = 0
    const rest = async () => {
      if (life.store.isClosed() && (steps += 1) === 2) throw new Error('injected')
    }
    await expect(deleteSession('operator', { ...life, rest }, runtime)).rejects.toThrow('injected')
    expect(timers.get('vanish')).toBeDefined()
    const next = wake()
    expect([next.store.session(), next.store.isClosed()]).toEqual([undefined, true])
    await expect(next.run()).rejects.toThrow()
    expect(leftIn(sqlite).rows).toBeGreaterThan(0)
    await removeRows(wake())
    expect(sqlite.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()).toEqual([])
  })
})

describe('the time of a session', () => {
  const waits = async (world: ReturnType<typeof createSessionWorld>, times: number) => {
    const gaps: number[] = []
    for (let time = 0; time < times; time += 1) {
      // Each in another life of the object: nothing is remembered that is not stored.
      const next = await world.wake().upkeep.onJob('retention')
      gaps.push(next! - world.clock.nowMs())
    }
    return gaps
  }

  it('I12: that is over is tried less and less often while it cannot be deleted', async () => {
    const world = createSessionWorld({
      ...answers,
      onExpired: async () => Promise.reject(new Error('away')),
    })
    await world.wake().run()
    await world.clock.advance(91 * dayMs)
    const gaps = await waits(world, 12)
    expect(gaps.slice(0, 4)).toEqual([10_000, 20_000, 40_000, 80_000])
    expect(gaps.at(-1)).toBe(3_600_000)
  })

  const lineage: Lineage = {
    rootSession: 'ses_above',
    parentSession: 'ses_above',
    parentRun: 'run_above',
    parentCall: 'call_above',
    depth: 1,
    shared: {},
    ancestry: ['above'],
    lease: agentSpec().limits,
  }
  const childOf = async (state: 'over' | 'unknown') => {
    const ended: string[] = []
    const { zeroUsage: usage } = await import('#contracts/lease.ts')
    const world = createSessionWorld({
      ...answers,
      others: { spentBy: async () => ({ state, usage }) },
      onExpired: async () => void ended.push(session),
    })
    await world.wake().run({ lineage })
    await world.wake().upkeep.onJob('recover')
    return { ...world, ended }
  }

  it('I12: has a timer of its own in a child too', async () => {
    const { timers } = await childOf('over')
    expect(timers.get('retention')).toBeDefined()
  })

  it('I12: is over for a child whose session above is gone, and not while that is there', async () => {
    for (const [state, ends] of [
      ['unknown', 1],
      ['over', 0],
    ] as const) {
      const { wake, clock, ended } = await childOf(state)
      await wake().upkeep.onJob('retention')
      expect(ended).toHaveLength(0)
      await clock.advance(91 * dayMs)
      const next = await wake().upkeep.onJob('retention')
      expect([ended.length, next === undefined]).toEqual([ends, ends === 1])
    }
  })
})

describe('a session that is off the list', () => {
  /** It is off the list, and before anything else is done the object ends. */
  async function endsThere() {
    const world = createSessionWorld(answers)
    const life = world.wake({ id: session })
    await life.run()
    const { unlist } = world.runtime.audit
    let isOff: () => void = () => {}
    const off = new Promise<void>((resolve) => (isOff = resolve))
    Object.assign(world.runtime.audit, {
      async unlist(...given: Parameters<typeof unlist>) {
        await unlist(...given)
        isOff()
        return new Promise(() => {})
      },
    })
    void deleteSession('operator', life, world.runtime)
    await off
    Object.assign(world.runtime.audit, { unlist })
    return world
  }

  it('I21: goes also where its object ended before its rows did, by the alarm that is left for it', async () => {
    const world = await endsThere()
    expect(world.listed()).toBeUndefined()
    const next = world.wake()
    expect(next.store.session()).toBeDefined()
    expect(world.timers.get('retention')?.time).toBeLessThanOrEqual(
      world.clock.nowMs() + world.runtime.timing.recoverEveryMs,
    )
    await world.clock.advance(world.runtime.timing.recoverEveryMs)
    const expiring = createRetention({
      ...next,
      runtime: world.runtime,
      onExpired: () => deleteSession('operator', next, world.runtime),
    })
    expect(await expiring.expire()).toBeUndefined()
    expect(next.store.session()).toBeUndefined()
    expect(world.listed()).toBeUndefined()
  })

  it('is kept where the list could not be reached, as the caller is told', async () => {
    const world = createSessionWorld(answers)
    const life = world.wake({ id: session })
    await life.run()
    Object.assign(world.runtime.audit, { unlist: () => Promise.reject(new Error('away')) })
    await expect(deleteSession('operator', life, world.runtime)).rejects.toMatchObject({
      code: 'request_unavailable',
    })
    await world.clock.advance(world.runtime.timing.recoverEveryMs)
    const next = world.wake()
    expect(await next.upkeep.onJob('retention')).toBeGreaterThan(world.clock.nowMs())
    expect(next.store.session()).toEqual(expect.not.objectContaining({ isLeaving: true }))
  })
})
