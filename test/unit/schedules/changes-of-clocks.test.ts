import { describe, expect, it } from 'vitest'
import { changesOfClocks } from '../../fakes/changes-of-clocks.ts'
import { nextSlots } from '../../../src/features/schedules/slots.ts'

describe('slots on days on which clocks change', () => {
  it.each(changesOfClocks)('%s %s: %s', (timeZone, cron, _shown, after, expected) => {
    const slots = nextSlots({ cron, timeZone }, Date.parse(`${after}Z`), expected.length)
    expect(slots.map((slot) => new Date(slot).toISOString().slice(5, 16))).toEqual(expected)
  })

  it('counts an interval from its anchor, whatever clocks show', () => {
    const anchorMs = Date.parse('2026-03-29T00:10Z')
    const every = { everyMs: 20 * 60_000, anchorMs }
    expect(nextSlots(every, anchorMs, 3)).toEqual([1, 2, 3].map((n) => anchorMs + n * 20 * 60_000))
    expect(nextSlots(every, anchorMs - 1, 1)).toEqual([anchorMs])
  })

  it('takes moments one after the other, and is over then', () => {
    expect(nextSlots({ atMs: [10, 20] }, 10, 5)).toEqual([20])
    expect(nextSlots({ atMs: [10, 20] }, 20, 5)).toEqual([])
  })
})
