import { describe, expect, it } from 'vitest'
import { spanIdOf } from '#contracts/trace.ts'
import { parseTraceHeaders } from '../../../src/platform/routes/types/trace.ts'
import { toTraceHeaders, toTraceparent } from '../../../src/runtime/session/types/telemetry.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'
const parent = `00-${trace}-${span}-01`

describe('trace context', () => {
  it('N7: names a span by its place, always the same, and never zero', () => {
    const id = spanIdOf('run_1', 1, 2)
    expect(id).toMatch(/^[0-9a-f]{16}$/)
    expect(spanIdOf('run_1', 1, 2)).toBe(id)
    const others = [spanIdOf('run_1', 12), spanIdOf('run_11', 2)]
    expect(new Set([id, ...others, spanIdOf('run_1')]).size).toBe(4)
  })

  it('N7: tells all spans of many runs apart, however alike their places are', () => {
    const ids = new Set<string>()
    let places = 0
    for (let run = 0; run < 100; run += 1)
      for (let turn = 0; turn < 30; turn += 1)
        for (let part = 0; part < 30; part += 1) {
          ids
            .add(spanIdOf(`run_${run}`, turn, part))
            .add(spanIdOf(`run_${run}`, `call_${turn}_${part}`))
          places += 2
        }
    expect(ids.size).toBe(places)
    // Neither half alone tells them apart by luck: each is spread over all its values.
    for (const half of [0, 8])
      expect(new Set([...ids].map((id) => id.slice(half, half + 8))).size).toBeGreaterThan(
        places * 0.999,
      )
  })

  it('reads back what it writes, with the flag of the sender', () => {
    const link = { span, isSampled: false, state: 'vendor=a,other@system=b' }
    const headers = toTraceHeaders({ trace, span, link })
    expect(headers).toEqual({ traceparent: `00-${trace}-${span}-00`, tracestate: link.state })
    const { traceparent = '', tracestate = '' } = headers
    expect(parseTraceHeaders(traceparent, tracestate)).toEqual({ trace, link })
    expect(toTraceparent({ trace, span })).toBe(parent)
    expect(toTraceHeaders({ trace, span })).not.toHaveProperty('tracestate')
  })

  it.each([
    'UPPER=a',
    'a',
    'a=b=c',
    'a=1,a=2',
    `a=${'x'.repeat(257)}`,
    Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(','),
    `a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(20)}`,
    'a=b\u00e9',
  ])('drops the tracestate %s', (state) => {
    expect(parseTraceHeaders(parent, state)?.link).toEqual({ span, isSampled: true })
  })

  it.each([null, '', parent.toUpperCase(), `${parent}-more`, parent.slice(1)])(
    'takes %s for no trace at all',
    (text) => expect(parseTraceHeaders(text, 'vendor=a')).toBeUndefined(),
  )
})
