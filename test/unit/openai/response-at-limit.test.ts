import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import type { ToldEvent } from '#contracts/event.ts'
import { createResponseView } from '../../../src/surfaces/openai/responses/response-view.ts'
import { toldEvent } from '../../fakes/events.ts'
import { delta, finished, resultOf, testRun } from '../../fakes/http-deps.ts'

const place = { session: `ses_${'S'.repeat(22)}`, run: testRun, turn: 0 }
const event = (type: string, data: object): ToldEvent =>
  toldEvent({ ...finished(resultOf(), 4), type, data })
const reached = event('budget_reached', { code: 'lease_turns', message: 'The limit is reached.' })
const parked = event('run_parked', { turn: 2, pauses: [{ kind: 'budget', call: 'limit_2_1' }] })
const atLimit = [delta('One'), reached, parked]

/** A response that is streamed, and what its client has read once the source ended. */
function streamed(echo: JsonObject, items = atLimit) {
  const head = { place, createdAt: 1, echo }
  const view = createResponseView({ head, requestId: 'req_1', onFault: () => {} })
  const text = items.map((item) => view.show(item)).join('')
  return { view, text, last: view.close() }
}

describe('a stream of a response whose run waits at a limit', () => {
  it('M6: in the background ends without an end', () => {
    const { view, last, text } = streamed({ background: true })
    expect(text).not.toMatch(/response\.(completed|incomplete|failed)/)
    expect(last).toBe('data: [DONE]\n\n')
    expect(view.resource()).toMatchObject({ status: 'in_progress', incomplete_details: null })
  })

  it('M6: in the foreground is incomplete, and says how it goes on', () => {
    const { view, last, text } = streamed({})
    expect(text).not.toContain('response.incomplete')
    expect(last).toContain('event: response.incomplete')
    expect(view.resource()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'lease_turns', message: expect.stringContaining('/limits') },
    })
  })

  it('M6: has broken off where that ends while its run works on', () => {
    const on = [...atLimit, event('tool_started', { call: 'call_1', tool: 'look' })]
    for (const echo of [{}, { background: true }])
      expect(streamed(echo, on).last).toContain('event: error')
  })

  it('M6: ends as its run does, once that went on', () => {
    const on = [...atLimit, finished(resultOf({ result: 'One' }), 5)]
    const { text, last } = streamed({ background: true }, on)
    expect(text).toContain('event: response.completed')
    expect(last).toBe('')
  })
})
