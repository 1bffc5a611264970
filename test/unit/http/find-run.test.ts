import { describe, expect, it } from 'vitest'
import type { Principal } from '../../../src/contracts/operations.ts'
import { createFakeApp, errorOf, parked, testRun, testSession } from '../../fakes/http-deps.ts'

const { sessionId: _session, trace: _trace, ...view } = parked
const as = (role: Principal['role'], id: string) =>
  createFakeApp({
    view,
    owner: 'ann',
    places: { [testRun]: { session: testSession, principal: 'ann' } },
    deps: { authenticate: async () => ({ id, role }) },
  })

describe('C5: GET /api/runs/:run', () => {
  it.each([
    ['user', 'ann'],
    ['author', 'ann'],
    ['operator', 'ops'],
    ['auditor', 'eve'],
  ] as const)('shows a run without its session to a %s who may see it (%s)', async (role, id) => {
    const { send, calls } = as(role, id)
    const response = await send(`/api/runs/${testRun}`)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ id: view.id, state: 'parked' })
    expect(calls).toEqual([expect.objectContaining({ method: 'result', args: ['ann', testRun] })])
  })

  it.each([
    ['user', 'bob', testRun],
    ['author', 'bob', testRun],
    ['user', 'ann', `run_${'X'.repeat(22)}`],
    ['operator', 'ops', `run_${'X'.repeat(22)}`],
    ['user', 'ann', 'run_short'],
    ['user', 'ann', testSession],
    ['user', 'ann', 'toString'],
  ] as const)('tells a %s (%s) nothing of %s, and asks no session', async (role, id, run) => {
    const { send, calls } = as(role, id)
    const response = await send(`/api/runs/${run}`)
    expect([response.status, (await errorOf(response)).code]).toEqual([404, 'not_found'])
    expect(calls).toEqual([])
  })
})
