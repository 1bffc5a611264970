import { afterEach, describe, expect, it, vi } from 'vitest'
import { callJson } from '../fakes/client.ts'
import { changesOfClocks } from '../fakes/changes-of-clocks.ts'
import { setTime } from '../fakes/schedule-world.ts'

afterEach(() => {
  vi.useRealTimers()
})

// What a Worker knows of time zones is not what Node knows: as the API answers it, by the clock of that day.
describe('slots on days on which clocks change, in a Worker', () => {
  it.each(changesOfClocks)('F11: %s %s: %s', async (timeZone, cron, _shown, after, expected) => {
    setTime(Date.parse(`${after}Z`))
    const json = { task: 'Go.', when: { cron, timeZone }, dryRun: true }
    const { next } = await callJson('/api/schedules', { json })
    const slots = next.slice(0, expected.length).map((slot: number) => new Date(slot).toISOString())
    expect(slots.map((slot: string) => slot.slice(5, 16))).toEqual(expected)
  })
})
