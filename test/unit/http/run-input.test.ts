import { describe, expect, it } from 'vitest'
import { createFakeApp, errorOf, testRun, testSession } from '../../fakes/http-deps.ts'

const base = `/api/sessions/${testSession}/runs/${testRun}`

describe('POST …/messages', () => {
  it('gives a run another message, labelled as the user’s, and answers 202', async () => {
    const { send, calls } = createFakeApp()
    const headers = { 'idempotency-key': 'k' }
    const response = await send(`${base}/messages`, { json: { message: 'Also this' }, headers })
    expect([response.status, await response.json()]).toEqual([
      202,
      { session: testSession, run: testRun, place: 1 },
    ])
    const message = { role: 'user', text: 'Also this', taint: ['user'] }
    expect(calls).toEqual([
      { session: testSession, method: 'steer', args: ['operator', testRun, message, 'k'] },
    ])
  })

  it('is 409 once the run is over', async () => {
    const refusal = { code: 'request_conflict', message: 'The run is over.' }
    const response = await createFakeApp({ refusal }).send(`${base}/messages`, {
      json: { message: 'x' },
    })
    expect([response.status, await errorOf(response)]).toMatchObject([
      409,
      { code: 'conflict', message: 'The run is over.' },
    ])
  })
})

describe('POST …/limits', () => {
  it('E1: changes what the run may spend; dollars become billionths', async () => {
    const { send, calls } = createFakeApp()
    const json = { maxTurns: 40, maxCostUsd: 0.5, maxDepth: 16, maxConcurrency: 64 }
    expect((await send(`${base}/limits`, { json })).status).toBe(200)
    const { maxCostUsd: _dollars, ...others } = json
    const limits = { ...others, maxCostNanoUsd: 500_000_000 }
    expect(calls.at(-1)).toEqual({
      session: testSession,
      method: 'changeLimits',
      args: ['operator', testRun, { limits, isOperator: true }],
    })
  })

  it.each([
    [{}],
    [{ maxTurns: 0 }],
    [{ maxTurns: null }],
    [{ maxDepth: 17 }],
    [{ maxConcurrency: 65 }],
    [{ limits: { maxTurns: 2 } }],
  ])('N6: refuses %j', async (json) => {
    const { send, calls } = createFakeApp()
    expect((await send(`${base}/limits`, { json })).status).toBe(400)
    expect(calls).toEqual([])
  })
})

describe('POST …/decisions', () => {
  const decider = { principal: 'operator', role: 'operator', via: 'session' }

  it.each([
    [{ decision: 'approve' }],
    [{ decision: 'approve', argsHash: 'ab' }],
    [{ decision: 'deny' }],
    [{ decision: 'deny', message: 'Not today.' }],
    [{ decision: 'result', output: { picked: 1 } }],
    [{ decision: 'result', output: null }],
    [{ decision: 'error', message: 'It broke.' }],
  ])('E6: settles a call with %j and shows the run', async (decision) => {
    const { send, calls } = createFakeApp()
    const response = await send(`${base}/decisions`, { json: { call: 'call_1', ...decision } })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ id: testRun, session: testSession })
    expect(calls).toEqual([
      {
        session: testSession,
        method: 'decide',
        args: ['operator', testRun, 'call_1', decision, decider],
      },
    ])
  })

  it.each([
    ['request_not_found', 'call', 404, 'This run has no such call waiting.'],
    ['request_not_found', undefined, 404, 'There is no such session or run.'],
    ['request_conflict', undefined, 409, 'This run has no such call waiting.'],
    ['request_too_large', 'output', 413, 'This run has no such call waiting.'],
  ])('passes on %s about %s as %i', async (code, param, status, message) => {
    const refusal = {
      code,
      message: 'This run has no such call waiting.',
      ...(param !== undefined && { param }),
    }
    const response = await createFakeApp({ refusal }).send(`${base}/decisions`, {
      json: { call: 'call_1', decision: 'approve' },
    })
    expect([response.status, await errorOf(response)]).toMatchObject([
      status,
      { message, param: param ?? null },
    ])
  })
})
