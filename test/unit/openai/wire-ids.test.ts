import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { fromReply, toFailureReply } from '#contracts/reply.ts'
import { carryOut } from '../../../src/surfaces/openai/plan.ts'
import {
  parseCallId,
  parseItemOf,
  toCallId,
  toItemId,
} from '../../../src/surfaces/openai/wire-ids.ts'

const place = { session: `ses_${'S'.repeat(22)}`, run: `run_${'R'.repeat(22)}` }
const call = 'call_12_3_0a1b2c3d'

describe('the ids that clients hold', () => {
  it('of a call has its run, its turn and the call, and gives them back', () => {
    const id = toCallId(place, call)
    expect(id).toBe(`call_${'S'.repeat(22)}${'R'.repeat(22)}_12_3_0a1b2c3d`)
    expect(parseCallId(id)).toEqual({ ...place, call, turn: 12 })
    expect(parseCallId(call)).toBeUndefined()
  })

  it.each([
    ['call', call, 'fc_', '_12_3_0a1b2c3d'],
    ['output', call, 'fco_', '_12_3_0a1b2c3d'],
    ['call', 'i0_1', 'fc_', '_i0_1'],
    ['message', '2', 'msg_', '_2'],
  ] as const)('of an item (%s, %s) gives back what it was made of', (type, key, start, end) => {
    const item = { type, key, run: place.run }
    const id = toItemId(item, place.session)
    expect(id).toBe(`${start}${'S'.repeat(22)}${'R'.repeat(22)}${end}`)
    expect(parseItemOf(place.session, id)).toEqual(item)
  })

  it('is named in an error about a call, which carries the call as data', async () => {
    const about = { param: 'input', call: { run: place.run, call } }
    const reply = toFailureReply(new IsolaError('request_invalid', 'call_9_9_ffffffff', about))
    expect(() => fromReply(reply)).toThrow(expect.objectContaining(about))
    const plan = { session: place.session, request: { messages: [] }, turn: 0 }
    await expect(carryOut(plan, async () => reply)).rejects.toMatchObject({
      message: `input: has no output for the function call ${toCallId(place, call)}.`,
      param: 'input',
    })
  })
})
