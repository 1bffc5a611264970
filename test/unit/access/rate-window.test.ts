import { describe, expect, it } from 'vitest'
import { createRateWindow, rateWindowMs } from '../../../src/features/access/rate-window.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const startMs = 1_790_000_000_000
const rule = (key: string, most: number) => ({ key, most })

describe('the count of calls', () => {
  it('C5: refuses more than a minute may have, until the first of them is a minute old', () => {
    const { take } = createRateWindow(createPrincipalStorage())
    const at = (call: string, ms: number) => take({ call, rules: [rule('a', 2)] }, startMs + ms)
    expect([at('1', 0), at('2', 1_000)]).toEqual([{}, {}])
    expect(at('3', 2_000)).toEqual({ retryAfterMs: rateWindowMs - 2_000 })
    expect(at('3', rateWindowMs)).toEqual({})
    expect(at('4', rateWindowMs)).toEqual({ retryAfterMs: 1_000 })
  })

  it('counts a call once, however often it is asked for: a crash takes nothing away', () => {
    const { take } = createRateWindow(createPrincipalStorage())
    const once = () => take({ call: 'same', rules: [rule('a', 1)] }, startMs)
    expect([once(), once(), once()]).toEqual([{}, {}, {}])
    expect(take({ call: 'other', rules: [rule('a', 1)] }, startMs)).toHaveProperty('retryAfterMs')
  })

  it('counts a call for all of its limits or for none', () => {
    const { take } = createRateWindow(createPrincipalStorage())
    take({ call: '1', rules: [rule('narrow', 1)] }, startMs)
    const both = [rule('wide', 1), rule('narrow', 1)]
    expect(take({ call: '2', rules: both }, startMs)).toHaveProperty('retryAfterMs')
    expect(take({ call: '3', rules: [rule('wide', 1)] }, startMs)).toEqual({})
  })

  it('never lets through what may not be called at all', () => {
    const { take } = createRateWindow(createPrincipalStorage())
    expect(take({ call: '1', rules: [rule('a', 0)] }, startMs)).toEqual({
      retryAfterMs: rateWindowMs,
    })
  })

  it('is not held up by a clock that went back', () => {
    const { take } = createRateWindow(createPrincipalStorage())
    take({ call: '1', rules: [rule('a', 1)] }, startMs + 10 * rateWindowMs)
    expect(take({ call: '2', rules: [rule('a', 1)] }, startMs)).toEqual({})
  })
})
