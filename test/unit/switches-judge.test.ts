import { describe, expect, it } from 'vitest'
import { isOnlyLate, judge, type TestRun } from '../switches/judge.mjs'

const run = (of: Partial<TestRun>): TestRun => ({
  isLate: false,
  passed: 1,
  isOff: true,
  said: '',
  ...of,
})
const green = run({})
const late = run({ red: 'waits', isLate: true, passed: 0 })

/** The judgement where the run without it, and the one with it, come to this. */
const judged = (off: TestRun, on?: TestRun, before?: TestRun) =>
  judge({
    before,
    without: async () => off,
    baseline: async () => {
      if (!on) throw new Error('Nobody needs this run.')
      return on
    },
  })

describe('a protection that is taken away', () => {
  it('G16: is caught by a test that fails', async () => {
    expect(await judged(run({ red: 'refuses' }))).toEqual({ isCaught: true, text: 'refuses' })
  })

  it('G16: is not caught by a test that is late with it as well', async () => {
    expect(await judged(late, late)).toMatchObject({
      isCaught: false,
      text: expect.stringContaining('NOT VALID'),
    })
    expect(await judged(late, green)).toEqual({ isCaught: true, text: 'waits' })
    expect(await judged(late, undefined, green)).toEqual({ isCaught: true, text: 'waits' })
  })

  it('G16: is missed where nothing turns red, where it stays on, and where the file does not load', async () => {
    const texts = [green, run({ red: 'x', isOff: false }), run({ problem: 'no such file' })]
    const judgements = await Promise.all(texts.map((off) => judged(off)))
    expect(judgements.map(({ isCaught }) => isCaught)).toEqual([false, false, false])
    expect(judgements.at(-1)?.text).toBe('MISSED: no such file')
    expect((await judged(green, undefined, run({ red: 'x' }))).text).toBe(
      'NOT VALID, red with it on: x',
    )
  })

  it('G16: is late only where every failure says so', () => {
    const of = (...failureMessages: readonly string[]) => isOnlyLate({ failureMessages })
    const slow = 'Error: Test timed out in 5000ms.\nIf this is a long-running test, …'
    expect(of(slow)).toBe(true)
    expect(of('Hook timed out in 5000ms.')).toBe(true)
    expect(of(slow, 'AssertionError: expected 1 to be 2')).toBe(false)
    expect(of('AssertionError: expected "x" to be "Test timed out in 5000ms."')).toBe(false)
    expect(of()).toBe(false)
  })
})
