import { describe, expect, it } from 'vitest'
import { createGlance, createWatchdog } from '../../../src/features/schedules/gateway.ts'
import { scheduleOf } from '../../fakes/schedules.ts'

describe('a glance beside a request', () => {
  it('F11: looks once a minute, and costs a comparison else', async () => {
    const clock = { at: 1_000_000 }
    let looks = 0
    const watch = async () => void (looks += 1)
    const glance = createGlance(watch, { nowMs: () => clock.at })
    await glance()
    for (const laterMs of [0, 1, 59_999]) {
      clock.at = 1_000_000 + laterMs
      expect(glance()).toBeUndefined()
    }
    clock.at = 1_060_000
    await glance()
    expect(looks).toBe(2)
  })
})

describe('the watchdog', () => {
  it('F11: asks the object that keeps it: an agent’s is with its owner', async () => {
    const asked: string[] = []
    const late = [
      scheduleOf({}, { owner: 'principal:ada' }),
      scheduleOf({}, { owner: 'agent:tickets', asker: { principal: 'ada' } }),
      scheduleOf({}, { owner: 'plugin:clock', asker: { principal: 'operator' } }),
    ]
    const watch = createWatchdog({
      index: { late: async () => late },
      gateway: { ask: async (keeper) => void asked.push(keeper) as never },
      clock: { nowMs: () => 0 },
      onFault: (error) => void asked.push(String(error)),
    })
    await watch()
    expect(asked).toEqual(['principal:ada', 'plugin:clock'])
  })

  it('never throws, whatever cannot be asked', async () => {
    const faults: unknown[] = []
    const away = async () => {
      throw new Error('away')
    }
    const deps = { clock: { nowMs: () => 0 }, onFault: (error: unknown) => void faults.push(error) }
    await createWatchdog({ ...deps, index: { late: away }, gateway: { ask: away } })()
    const late = async () => [scheduleOf()]
    await createWatchdog({ ...deps, index: { late }, gateway: { ask: away } })()
    expect(faults).toHaveLength(2)
  })
})
