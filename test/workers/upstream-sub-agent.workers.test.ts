import { afterEach, describe, expect, it, vi } from 'vitest'
import { callJson } from '../fakes/client.ts'
import { deadlineMs } from '../faults/upstream-faults.world.ts'
import {
  expectAsLabelled,
  expectSettled,
  hurry,
  inOnePiece,
  named,
  oneOfEach,
  recordOf,
  request,
  someone,
  sum,
  withFault,
} from '../faults/upstream-wire.ts'
import { isNightly } from '../setup/nightly.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/**
 * One fault of each outcome, nightly all: a sub-agent runs the code that meets all of them in upstream-faults.test.ts, in
 * virtual time, and those of streams in upstream-streamed.workers.test.ts.
 */
const met = isNightly ? inOnePiece : oneOfEach(inOnePiece)

describe('M6: G6: an upstream fault in', () => {
  it.each(named(met))('a sub-agent: %s', async (_name, fault) => {
    const who = await someone()
    hurry(fault)
    const requests = withFault(fault, 'sub-agent')
    const response = await callJson('/v1/responses', { json: request, headers: who.headers })
    expectAsLabelled({ name: fault.name, answers: [], requests: 0, text: 'I went on.' }, response)
    // Its model is the deployment's, so that there is no other one to take over.
    expect(requests()).toEqual([fault.requests])
    await expectSettled(who, sum(requests()) + 2)
    const told = (await recordOf(who)).flatMap(({ type, data }) =>
      type === 'agent_result' ? [data['error']] : [],
    )
    // Where nothing comes, its own time or its caller's may be what ends first.
    const ends =
      fault.elapsedMs === deadlineMs ? /^(lease_time|model_timeout|cancelled)$/ : fault.code
    const code = ends && expect.stringMatching(ends)
    expect(told).toEqual([code ? expect.objectContaining({ code }) : undefined])
  })
})
