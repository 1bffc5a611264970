import { describe, expect, it } from 'vitest'
import type { RequestEntry } from '#platform/routes/types.ts'
import { createFakeApp, testKey, testSession, testTrace } from '../../fakes/http-deps.ts'

function setUp(deps: Parameters<typeof createFakeApp>[0] = {}) {
  const entries: RequestEntry[] = []
  const app = createFakeApp({
    ...deps,
    deps: { ...deps.deps, onRequest: (entry) => void entries.push(entry) },
  })
  return { ...app, entries }
}

describe('the log of requests', () => {
  it('has the route, not the address, and who asked by role', async () => {
    const { send, entries } = setUp()
    const response = await send(`/api/sessions/${testSession}?secret=1`)
    expect(entries).toEqual([
      {
        requestId: response.headers.get('x-request-id'),
        method: 'GET',
        route: '/api/sessions/:id',
        status: response.status,
        ms: 0,
        role: 'operator',
      },
    ])
  })

  it('N7: has the trace of what was begun', async () => {
    const { send, entries } = setUp()
    const json = { model: 'orchestrator', messages: [{ role: 'user', content: 'hi' }] }
    await send('/v1/chat/completions', { json })
    expect(entries).toMatchObject([{ route: '/v1/chat/completions', trace: testTrace }])
  })

  it.each([
    ['/healthz', 200, '/healthz'],
    ['/nowhere/secret', 404, null],
    ['/v1/models/some/secret', 404, '/v1/models/:id{.+}'],
  ])('has one line for %s with status %i', async (path, status, route) => {
    const { send, entries } = setUp()
    await send(path)
    expect(entries).toMatchObject([{ status, route }])
    expect(JSON.stringify(entries)).not.toContain('secret')
  })

  it('I28: has nothing of a wrong key', async () => {
    const { send, entries } = setUp()
    await send('/v1/models', { headers: { authorization: 'Bearer wrong-key' } })
    expect(entries).toMatchObject([{ status: 401 }])
    expect(entries[0]).not.toHaveProperty('role')
    expect(JSON.stringify(entries)).not.toMatch(/wrong-key|Bearer/)
  })

  it('I28: a fault is told together with the key that was shown, so that it can be taken out', async () => {
    const secrets: unknown[] = []
    const { send } = setUp({
      deps: {
        database: async () => Promise.reject(new Error('boom')),
        onFault: (_error, _requestId, shown) => void secrets.push(shown),
      },
    })
    expect((await send('/api/operator/health')).status).toBe(500)
    expect(secrets).toEqual([[testKey]])
  })
})
