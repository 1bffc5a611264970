import { describe, expect, it } from 'vitest'
import { defaultTiming } from '#runtime/session/types/runtime.ts'
import { createAlarms } from '../../../src/runtime/session/session.ts'
import { createMeter } from '../../../src/runtime/session/storage/meter.ts'
import { createWakeWatch } from '../../../src/runtime/session/upkeep/incidents.ts'
import { createSessionWorld, settle } from '../../switches/session-world.ts'

const minuteMs = 60_000

interface LoopOptions {
  readonly everyMs: number
  readonly recoverEveryMs?: number
}

/** An object whose alarm sets itself again `everyMs` later. */
function createLoop({ everyMs, recoverEveryMs = 10_000 }: LoopOptions) {
  let nowMs = 0
  let alarmMs: number | null = 0
  let progress = 1
  const told: (readonly [string, boolean])[] = []
  const watch = createWakeWatch({
    clock: { nowMs: () => nowMs },
    recoverEveryMs,
    storage: { getAlarm: async () => alarmMs },
    setAlarm: async (time) => void (alarmMs = time),
    progress: () => progress,
    report: (kind, message) => void told.push([kind, message !== undefined]),
  })
  const ring = async () => {
    nowMs = alarmMs ?? nowMs
    alarmMs = nowMs + everyMs
    await watch.rang()
  }
  return {
    told,
    ring,
    nowMs: () => nowMs,
    moveOn: () => void (progress += 1),
    restUntil: (time: number) => void (alarmMs = time),
    /** Alarms until a time. */
    async until(endMs: number) {
      let rings = 0
      for (; (alarmMs ?? Infinity) < endMs; rings += 1) await ring()
      return rings
    },
  }
}

describe('E9: a loop of wakes', () => {
  it('is broken after thirty alarms in a minute, and pushed out further each time', async () => {
    const loop = createLoop({ everyMs: 10 })
    expect(await loop.until(minuteMs)).toBe(30)
    // One, two, four … minutes, at most an hour: instead of six thousand a minute.
    expect(await loop.until(24 * 60 * minuteMs)).toBeLessThan(40)
    expect(loop.told[0]).toEqual(['wake_loop', true])
  })

  it('is over, and said to be, once something was added to the log', async () => {
    const loop = createLoop({ everyMs: 10 })
    await loop.until(minuteMs)
    loop.moveOn()
    await loop.ring()
    expect(loop.told).toEqual([
      ['wake_loop', true],
      ['wake_loop', false],
    ])
  })

  it('is none where a run works for long, or every alarm brings something', async () => {
    const recovery = createLoop({ everyMs: 10_000 })
    await recovery.until(60 * minuteMs)
    expect(recovery.told).toEqual([])
    const often = createLoop({ everyMs: 300, recoverEveryMs: 300 })
    await often.until(10 * minuteMs)
    expect(often.told).toEqual([])
    const busy = createLoop({ everyMs: 10 })
    for (let rings = 0; rings < 100; rings += 1) {
      busy.moveOn()
      await busy.ring()
    }
    expect(busy.told).toEqual([])
  })

  it('F4: is near again for a run that is accepted after it was pushed out', async () => {
    const { alarm, clock, storage, runtime, wake, setAuditAway } = createSessionWorld({
      script: () => ({ text: 'hi' }),
    })
    const life = wake({ id: 'ses_1' })
    setAuditAway(true)
    await life.run()
    await settle()
    const alarms = createAlarms({
      runtime,
      storage: { getAlarm: async () => alarm.time ?? null },
      meter: createMeter(storage),
      lifecycle: {
        async alarm() {
          await life.upkeep.onJob('recover')
          alarm.time = clock.nowMs() + 10
        },
      },
      current: { parts: life },
    })
    for (let ring = 0; ring < 30; ring += 1) await alarms.ring()
    expect(alarm.time).toBe(clock.nowMs() + minuteMs)
    const { live } = await life.take()
    await live?.accepted
    expect(alarm.time).toBe(clock.nowMs() + defaultTiming.recoverEveryMs)
  })
})
