import { describe, expect, it } from 'vitest'
import { defaultTiming } from '#runtime/session/types/runtime.ts'
import { createRestingWorld, createSessionWorld, settle } from '../../switches/session-world.ts'

const { recoverEveryMs, keepNamedMs } = defaultTiming
const monthMs = 30 * 86_400_000
const endMs = Math.min(monthMs, keepNamedMs)

/** Its timers have no rows. */
const atRest = () => createRestingWorld({ hasNoJobs: true })

describe('E9: the timers of a session', () => {
  it('need no row: the alarm is near while it works, and at its own end when it rests', async () => {
    const { life, alarm, timers, clock, rest } = await atRest()
    const end = alarm.time!
    expect(end).toBeGreaterThan(clock.nowMs() + endMs - 60_000)
    await clock.advance(3_600_000)
    const { live } = await life.take()
    await live?.accepted
    expect(alarm.time).toBe(clock.nowMs() + recoverEveryMs)
    await live?.done
    await rest()
    expect(alarm.time).toBe(end)
    expect(timers.size).toBe(0)
  })

  it('F4: have a row as soon as the alarm rings, in this life of the object or in another', async () => {
    for (const isSame of [true, false]) {
      const { life, wake, timers, clock } = await atRest()
      const { live } = await life.take()
      await live?.accepted
      await clock.advance(recoverEveryMs)
      await (isSame ? life : wake()).timers.ring()
      expect(timers.get('recover')?.time).toBeLessThanOrEqual(clock.nowMs())
    }
  })

  it('I12: that an earlier life set end the session when their time has come', async () => {
    let hasExpired = 0
    const world = createSessionWorld({
      script: () => ({ text: 'hi' }),
      hasNoJobs: true,
      onExpired: async () => void (hasExpired += 1),
    })
    await world.wake({ id: 'ses_1' }).run()
    await world.clock.advance(keepNamedMs)
    const life = world.wake()
    await life.timers.ring()
    expect([...world.timers.keys()]).toEqual(['recover'])
    // Nothing is left to do: the job gives way to the one of its end, which is due.
    expect(await life.upkeep.onJob('recover')).toBeUndefined()
    await settle()
    expect(world.timers.get('retention')!.time).toBeLessThanOrEqual(world.clock.nowMs())
    await life.upkeep.onJob('retention')
    expect(hasExpired).toBe(1)
  })

  it('F4: all have rows with the first other one, so that no alarm comes later than it was set for', async () => {
    const { life, timers, clock } = await atRest()
    const { live } = await life.take()
    await live?.accepted
    life.upkeep.keepTombstones()
    expect(timers.get('recover')!.time).toBeLessThanOrEqual(clock.nowMs() + recoverEveryMs)
    expect(timers.get('graves')).toBeDefined()

    const other = await atRest()
    // Another life does not know what the alarm was set for.
    other.wake().upkeep.keepTombstones()
    expect(other.timers.get('recover')!.time).toBeLessThanOrEqual(other.clock.nowMs())
  })

  it('are none where there is no session', async () => {
    const world = createSessionWorld({ script: () => ({ text: 'hi' }), hasNoJobs: true })
    const life = world.wake()
    await life.timers.ring()
    expect(world.timers.size).toBe(0)
    life.upkeep.keepTombstones()
    expect([...world.timers.keys()]).toEqual(['graves'])
  })

  it('F4: have a row when the alarm rings where their table was made and left empty', async () => {
    const { wake, jobs, timers } = await atRest()
    jobs.areMade = true
    const life = wake()
    await life.timers.ring()
    expect([...timers.keys()]).toEqual(['recover'])
    await life.upkeep.onJob('recover')
    expect(timers.has('retention')).toBe(true)
  })

  it('F4: have a durable row before anything is done', async () => {
    const { life, storage, timers } = await atRest()
    const synced: string[][] = []
    storage.sync = async () => void synced.push([...timers.keys()])
    await life.timers.ring()
    expect(synced).toEqual([['recover', 'retention']])
  })

  it('F4: are looked after as well with the first other one in a table that was empty', async () => {
    const { wake, jobs, timers } = await atRest()
    jobs.areMade = true
    wake().upkeep.keepTombstones()
    expect([...timers.keys()]).toEqual(['recover', 'graves'])
  })

  it('F4: have a row when the alarm is tried again after their table was made and no row', async () => {
    for (const isSame of [true, false]) {
      const { life, wake, failTimers, timers } = await atRest()
      failTimers('push')
      await expect(life.timers.ring()).rejects.toThrow('could not be stored')
      expect(timers.size).toBe(0)
      failTimers()
      await (isSame ? life : wake()).timers.ring()
      expect(timers.has('recover')).toBe(true)
      // What this life of the object knew besides is not lost.
      expect(timers.has('retention')).toBe(isSame)
    }
  })

  it('F4: have rows while something could not be carried, and none for what could', async () => {
    for (const isReached of [true, false]) {
      const world = createSessionWorld({
        script: () => ({ text: 'hi' }),
        hasNoJobs: true,
        others: {
          cancelCall: async () => (isReached ? undefined : Promise.reject(new Error('away'))),
        },
      })
      const life = world.wake({ id: 'ses_1' })
      const about = { session: 'ses_2', run: 'run_1', call: 'call_1', reason: 'enough' }
      life.todo.add({ kind: 'cancel', ...about })
      life.upkeep.carry()
      await settle()
      expect(world.timers.has('recover')).toBe(!isReached)
    }
  })

  it('F4: are asked for again where nothing can be read, and the end of the run is not disturbed', async () => {
    const { life, alarm, failWhere, clock } = await atRest()
    const final = life.store.final(1)!
    const [row] = life.store.runs(1, 1)
    life.todo.add({ kind: 'settle', session: 'ses_1', run: row!.id })
    failWhere((query) => /FROM (todo|log)/.test(query))
    life.upkeep.afterRun(row!, { ...final, state: 'failed' } as typeof final)
    await settle()
    expect(alarm.time).toBe(clock.nowMs() + recoverEveryMs)
  })

  it('F4: are set again where the alarm could not be stored, and not later than for what waits', async () => {
    const { life, alarm, clock } = await atRest()
    const end = alarm.time!
    await life.upkeep.end()
    expect(alarm.time).toBeUndefined()
    const recover = { id: 'recover', fn: 'recover', time: clock.nowMs() + 10_000 }
    alarm.isFailing = true
    await expect(life.timers.jobs.push(recover)).rejects.toThrow('could not be stored')
    alarm.isFailing = false
    await life.timers.jobs.push({ id: 'retention', fn: 'retention', time: end })
    expect(alarm.time).toBe(recover.time)
  })
})
