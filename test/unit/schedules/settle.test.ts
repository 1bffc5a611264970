import { describe, expect, it } from 'vitest'
import type { Schedule } from '../../../src/runtime/session/types/schedule.ts'
import {
  afterSlot,
  leaveOfDay,
  maxQueued,
  maxSettled,
  settleDue,
} from '../../../src/features/schedules/settle.ts'
import { jitterOf } from '../../../src/features/schedules/slots.ts'
import { minuteMs, scheduleOf } from '../../fakes/schedules.ts'
import { sha256 } from '../../fakes/kernel.ts'

const ten = 10 * minuteMs
const noJitter = (_slotMs: number) => 0
const settle = (schedule: Schedule, nowMs: number, open = 0, jitter = noJitter) =>
  settleDue(schedule, nowMs, { open }, jitter)
const states = (schedule: Schedule, nowMs: number, open = 0) =>
  settle(schedule, nowMs, open).verdicts.map(({ slotMs, state }) => `${slotMs / ten} ${state}`)

describe('slots that are due', () => {
  it('are none before their time, and asking moves nothing', () => {
    const schedule = scheduleOf({}, { nextMs: ten })
    expect(settle(schedule, ten - 1)).toEqual({ verdicts: [], nextMs: ten })
    expect(settle(schedule, ten - 1)).toEqual(settle(schedule, ten - 1))
  })

  it('are followed by the one after the slot, however late it is fired', () => {
    const late = settle(scheduleOf(), 30_000)
    expect(late).toEqual({ verdicts: [{ slotMs: 0, state: 'queued' }], nextMs: ten })
  })

  it.each([
    ['skip', ['0 missed', '1 missed', '2 missed', '3 queued']],
    ['once', ['0 missed', '1 missed', '2 missed', '3 queued']],
    ['all', ['0 queued', '1 queued', '2 queued', '3 queued']],
  ] as const)('catch-up %s: unfired slots, beside one in time', (catchUp, expected) => {
    expect(states(scheduleOf({ catchUp }), 3 * ten + 1_000)).toEqual(expected)
  })

  it.each([
    ['skip', ['0 missed', '1 missed']],
    ['once', ['0 missed', '1 queued']],
    ['all', ['0 queued', '1 queued']],
  ] as const)('catch-up %s: unfired slots, all late', (catchUp, expected) => {
    expect(states(scheduleOf({ catchUp }), ten + 5 * minuteMs)).toEqual(expected)
  })

  it('are missed once they are later than they may be, with the reason', () => {
    const schedule = scheduleOf({ catchUp: 'all', notAfterMs: 15 * minuteMs })
    const { verdicts } = settle(schedule, 2 * ten + 5 * minuteMs)
    expect(verdicts.map(({ state }) => state)).toEqual(['missed', 'queued', 'queued'])
    expect(verdicts[0]?.reason).toBe('nobody fired it in time (25 min late); not after 15 min')
  })

  it('are skipped while an earlier one works, or wait for it', () => {
    expect(states(scheduleOf(), 0, 1)).toEqual(['0 skipped'])
    expect(states(scheduleOf({ overlap: 'queue' }), 0, 1)).toEqual(['0 queued'])
  })

  it('stay where they are while too many wait: none is dropped for want of room', () => {
    const schedule = scheduleOf({ overlap: 'queue' })
    expect(settle(schedule, 0, maxQueued)).toEqual({ verdicts: [], nextMs: 0, isBlocked: true })
    const all = settle(scheduleOf({ catchUp: 'all' }), 500 * ten)
    expect(all.verdicts).toHaveLength(maxQueued)
    expect(all).toMatchObject({ nextMs: maxQueued * ten, isBlocked: true })
  })

  it('are settled so many at a time, and none of a part is the newest', () => {
    const first = settle(scheduleOf(), 500 * ten)
    expect(first.verdicts).toHaveLength(maxSettled)
    expect(first.verdicts.every(({ state }) => state === 'missed')).toBe(true)
    expect(first.nextMs).toBe(maxSettled * ten)
  })

  it('come later by their jitter, never sooner, and always by the same', () => {
    const schedule = scheduleOf({ jitterMs: 5 * minuteMs })
    const jitters = Array.from({ length: 200 }, (_, slot) => jitterOf(schedule, slot * ten, sha256))
    expect(Math.min(...jitters)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...jitters)).toBeLessThanOrEqual(5 * minuteMs)
    expect(new Set(jitters).size).toBeGreaterThan(150)
    const jitter = (slotMs: number) => jitterOf(schedule, slotMs, sha256)
    expect(settle(schedule, jitter(0) - 1, 0, jitter).verdicts).toEqual([])
    expect(settle(schedule, jitter(0), 0, jitter).verdicts).toHaveLength(1)
  })
})

describe('a day of a schedule', () => {
  const day = { day: '1970-01-01', runs: 2, tokens: 900, costNanoUsd: 5 }
  it('begins no more firings than it may, and gives the last of them what is left', () => {
    const of = (daily: Schedule['spec']['daily']) => leaveOfDay(scheduleOf({ daily }, { day }), 1)
    expect(of({ runs: 2 })).toEqual({ why: 'its day has had 2 firings' })
    expect(of({ runs: 3, tokens: 1_000 })).toEqual({ limits: { maxTokens: 100 } })
    expect(of({ runs: 3, tokens: 900 })).toEqual({ why: 'what its day may spend is spent' })
    expect(of({ runs: 3 })).toEqual({ limits: undefined })
  })
  it('is another one after midnight', () => {
    const schedule = scheduleOf({ daily: { runs: 2 } }, { day })
    expect(leaveOfDay(schedule, 86_400_000)).toEqual({ limits: undefined })
  })
})

describe('a firing that ended', () => {
  const failed = { state: 'failed', reason: 'no model', tokens: 10, costNanoUsd: 1 } as const
  it('stops its schedule after failures in a row, and only then', () => {
    const first = afterSlot(scheduleOf({ stopAfterFailures: 2 }), failed, 1)
    expect(first).toMatchObject({ failures: 1, day: { tokens: 10 } })
    expect(first.paused).toBeUndefined()
    const again = scheduleOf({ stopAfterFailures: 2 }, first)
    expect(afterSlot(again, failed, 2).paused?.reason).toBe(
      'it failed 2 times in a row, the last time: no model',
    )
    expect(afterSlot(again, { ...failed, state: 'done' }, 2)).toMatchObject({ failures: 0 })
  })
})
