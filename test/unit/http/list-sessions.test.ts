import { describe, expect, it } from 'vitest'
import type { Principal, SessionListing } from '../../../src/contracts/operations.ts'
import { createFakeApp, errorOf, testSession } from '../../fakes/http-deps.ts'

const as = (role: Principal['role'], id: string) =>
  createFakeApp({ deps: { authenticate: async () => ({ id, role }) } })

describe('GET /api/sessions', () => {
  it.each(['user', 'author', 'operator'] as const)('shows a %s its own', async (role) => {
    const { send, lists } = as(role, 'ann')
    expect((await send('/api/sessions')).status).toBe(200)
    expect((await send('/api/sessions?principal=ann')).status).toBe(200)
    expect(lists).toEqual([
      { principal: 'ann', limit: 100 },
      { principal: 'ann', limit: 100 },
    ])
  })

  it.each(['operator', 'auditor'] as const)('shows an %s those of others, or all', async (role) => {
    const { send, lists } = as(role, 'ann')
    await send('/api/sessions?principal=bob')
    await send('/api/sessions?principal=*')
    expect(lists).toEqual([{ principal: 'bob', limit: 100 }, { limit: 100 }])
  })

  it('shows an auditor, who has none of its own, all unless it names one', async () => {
    const { send, lists } = as('auditor', 'ann')
    await send('/api/sessions')
    expect(lists).toEqual([{ limit: 100 }])
  })

  it.each(['bob', '*'])('refuses a user principal=%s, and looks nothing up', async (principal) => {
    const { send, lists } = as('user', 'ann')
    const response = await send(`/api/sessions?principal=${principal}`)
    expect([response.status, (await errorOf(response)).param]).toEqual([403, 'principal'])
    expect(lists).toEqual([])
  })

  it('answers a page and where the next begins', async () => {
    const listing: SessionListing = {
      id: testSession,
      agent: 'orchestrator',
      principal: 'operator',
      createdAtMs: 5,
      usedAtMs: 9,
      runs: 2,
      state: 'completed',
      isStateless: false,
    }
    const { send, lists } = createFakeApp({
      deps: {
        sessionIndex: {
          idsOf: async () => [],
          placeOf: async () => undefined,
          list: async () => ({ sessions: [listing], next: { sinceMs: 5, id: testSession } }),
        },
      },
    })
    const page = await (await send('/api/sessions?limit=1')).json()
    expect(page).toEqual({ sessions: [listing], next: `5-${testSession}` })
    expect(lists).toEqual([])
    const { send: again, lists: asked } = createFakeApp()
    await again(`/api/sessions?limit=1&after=5-${testSession}&agent=a&state=parked&stateless=true`)
    expect(asked).toEqual([
      {
        principal: 'operator',
        agent: 'a',
        state: 'parked',
        withStateless: true,
        limit: 1,
        after: { sinceMs: 5, id: testSession },
      },
    ])
  })

  it.each([
    ['limit=0', 'limit'],
    ['limit=501', 'limit'],
    ['after=5', 'after'],
    [`after=x-${testSession}`, 'after'],
    ['state=done', 'state'],
    ['stateless=1', 'stateless'],
    ['agent=', 'agent'],
    ['kind=child', 'kind'],
  ])('refuses ?%s and names it', async (query, param) => {
    const { send, lists } = createFakeApp()
    const response = await send(`/api/sessions?${query}`)
    expect(response.status).toBe(400)
    expect((await errorOf(response)).message).toContain(param)
    expect(lists).toEqual([])
  })
})
