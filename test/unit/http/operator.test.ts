import { describe, expect, it } from 'vitest'
import { createFakeApp, testSession, testTrace } from '../../fakes/http-deps.ts'

describe('GET /api/operator/audit', () => {
  it.each([
    ['', { limit: 100 }],
    [`?trace=${testTrace}`, { trace: testTrace, limit: 100 }],
    [`?session=${testSession}&limit=5&after=17`, { session: testSession, limit: 5, after: 17 }],
  ])('with %s asks for %j', async (query, expected) => {
    const { send, audits } = createFakeApp()
    const response = await send(`/api/operator/audit${query}`)
    expect([response.status, await response.json()]).toEqual([200, { records: [] }])
    expect(audits).toEqual([expected])
  })
})

describe('GET /api/operator/health', () => {
  it('is ok with version, migrations and models', async () => {
    const body = await (await createFakeApp().send('/api/operator/health')).json()
    expect(body).toEqual({
      status: 'ok',
      version: '0.1.0',
      migrations: { state: 'ready', migration: '0001_init.sql' },
      plugins: [],
      models: { default: 'scripted/one', served: ['scripted/one'] },
    })
  })

  it('is degraded when a plugin is off, and says which and why', async () => {
    const problem = { plugin: 'bad', code: 'plugin_register_failed', message: 'It threw.' }
    const { send } = createFakeApp({ deps: { pluginProblems: () => [problem] } })
    const body = await (await send('/api/operator/health')).json()
    expect(body).toMatchObject({ status: 'degraded', plugins: [problem] })
  })
})
