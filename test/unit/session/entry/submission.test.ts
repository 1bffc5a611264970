import { describe, expect, it } from 'vitest'
import type { Submission } from '#runtime/session/types/submission.ts'
import { bodyHashOf } from '../../../../src/runtime/session/runs/admission.ts'
import { createSubmitAs, toSubmission } from '../../../../src/runtime/session/entry/submit-as.ts'
import { sha256 } from '../../../fakes/kernel.ts'
import { createFakeGateway } from '../../../fakes/session-gateway.ts'

const said = { role: 'user', text: 'Go.', taint: ['user'] } as const
const ask = { session: 'ses_1', messages: [said], trace: 't1' }

describe('a submission', () => {
  it('I26: says by which key it is asked, within which limits, and for which agents', () => {
    const asker = {
      id: 'user:ada',
      key: 'key_1',
      grant: 'grant_1',
      limits: { tokens: 9, asOfMs: 1 },
      agents: ['helper'],
    }
    expect(toSubmission(asker, ask, { key: 'k1', origin: 'test' })).toEqual({
      principal: 'user:ada',
      key: 'key_1',
      grant: 'grant_1',
      dayLimits: { tokens: 9, asOfMs: 1 },
      allowedAgents: ['helper'],
      messages: [said],
      protocol: 1,
      trace: 't1',
      idempotencyKey: 'k1',
      origin: 'test',
    })
  })

  it('N1: of a call has what is handed down, where it came in too, and the same hash', () => {
    const options = {
      model: 'a',
      pauses: 'client_tools',
      requireApproval: ['mail'],
      origin: 'chat',
    }
    const lineage = { depth: 1 }
    const child = toSubmission(
      { id: 'user:ada' },
      {
        ...ask,
        agent: 'helper',
        messages: [{ role: 'user', text: 'Sum up.', taint: ['model'] }],
      },
      { key: 'call_1_0_ab', above: { options, lineage } as never },
    )
    expect(child).toMatchObject({ origin: 'chat', pauses: 'refuse', lineage })
    expect(child).not.toHaveProperty('model')
    const { agent, ...rest } = child
    // As it was recorded with 0.1.0 (body-hash.test.ts).
    expect(bodyHashOf({ ...rest, agent } as Submission, sha256)).toBe(
      '79f0a7e7c48b6eb7a47892c7746f3d161a7c880f2c7b97a7510aa76883323a29',
    )
  })

  it('of a caller without a trace has one of its own, also where it is sent again', async () => {
    const traces: string[] = []
    const sessions = createFakeGateway({
      submit: async (session, { trace }) => {
        traces.push(trace)
        return { ok: false, error: { code: 'request_unavailable', message: session } }
      },
    })
    const ids = { next: () => 'id', traceId: () => 'ab'.repeat(16) }
    const { trace: _none, ...untraced } = ask
    const work = createSubmitAs({ sessions, ids })({ id: 'cron' }, untraced, { origin: 'test' })
    await work.submit()
    await work.submit()
    expect([work.session, work.trace, ...traces]).toEqual([
      'ses_1',
      ...Array(3).fill('ab'.repeat(16)),
    ])
  })
})
