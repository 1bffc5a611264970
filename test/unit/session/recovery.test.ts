import { describe, expect, it } from 'vitest'
import { defaultTiming } from '#runtime/session/types/runtime.ts'
import { createRestingWorld, createSessionWorld, settle } from '../../switches/session-world.ts'

const { recoverEveryMs } = defaultTiming

const atRest = createRestingWorld

describe('the alarm of a session', () => {
  it('is moved away from the recovery job when nothing is left to do, to look for its own end', async () => {
    const { alarm, timers, clock } = await atRest()
    expect(alarm.time).toBe(timers.get('retention')?.time)
    // Whatever sets the alarm by the jobs finds one that is due: too early, never too late.
    expect(timers.get('recover')?.time).toBeLessThan(clock.nowMs() + recoverEveryMs)
  })

  it('F4: is near again as soon as a run is accepted, without another job', async () => {
    const { alarm, timers, clock, life, rest } = await atRest()
    const before = { ...timers.get('recover') }
    await clock.advance(3_600_000)
    const { live } = await life.take()
    await live?.accepted
    expect(alarm.time).toBe(clock.nowMs() + recoverEveryMs)
    expect(timers.get('recover')).toEqual(before)
    await live?.done
    await rest()
    expect(alarm.time).toBe(timers.get('retention')?.time)
  })

  it('F4: is near for a run that another life of the object accepts', async () => {
    const { alarm, clock, wake } = await atRest()
    await clock.advance(60_000)
    const { live } = await wake().take()
    await live?.accepted
    expect(alarm.time).toBe(clock.nowMs() + recoverEveryMs)
  })

  it('F15: stays near while the database does not take the record', async () => {
    const { alarm, clock, life, rest, setAuditAway } = await atRest()
    setAuditAway(true)
    await life.run()
    await rest()
    expect(alarm.time).toBeLessThanOrEqual(clock.nowMs() + recoverEveryMs)
    setAuditAway(false)
    expect(await life.upkeep.onJob('recover')).toBeUndefined()
  })

  it('F4: is near for a new run, though the job waits long to reach another session', async () => {
    const { clock, life, timers } = await atRest()
    const time = clock.nowMs() + 3_600_000
    timers.set('recover', { fn: 'recover', time })
    life.upkeep.begin()
    const { live } = await life.take()
    await live?.accepted
    expect(timers.get('recover')?.time).toBe(clock.nowMs() + recoverEveryMs)
  })

  it('I12: stays near while the timer of its end cannot be set, and nothing of that escapes', async () => {
    const world = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = world.wake({ id: 'ses_1' })
    await life.run()
    await settle()
    world.failTimers('push')
    await world.clock.advance(1_000)
    await settle()
    const soon = () => world.clock.nowMs() + recoverEveryMs
    expect(world.alarm.time ?? world.timers.get('recover')!.time).toBeLessThanOrEqual(soon())
    // The job comes: it is not over before the other one is there.
    expect(await world.wake().upkeep.onJob('recover')).toBe(soon())
    world.failTimers()
    expect(await world.wake().upkeep.onJob('recover')).toBeUndefined()
    expect(world.timers.get('retention')).toBeDefined()
  })
})
