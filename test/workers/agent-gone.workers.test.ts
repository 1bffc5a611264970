import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const once: UpstreamScript = ({ messages }) =>
  messages.some(({ role }) => role === 'tool')
    ? { text: 'all set' }
    : { text: 'first', calls: [{ name: 'kv__set', input: { key: 'k', value: 1 } }] }

async function enable(version: string): Promise<void> {
  await addPlugin({
    ...pluginBundle('waits', 'x', {
      version,
      agent: {
        integration_mode: 'tool',
        model: 'openai/waits',
        instructions: 'p.md',
        uses_tools: ['kv'],
      },
    }),
    files: { 'p.md': 'You wait.' },
  })
  await enablePlugin('waits')
}

describe('a run that waits while its agent is not enabled', { timeout: 60_000 }, () => {
  it.each([
    ['a raised limit', '1.0.0', { limits: { maxTurns: 1 } }],
    ['an approval', '1.0.1', { requireApproval: ['kv__set'] }],
  ])('E1, I15: goes on waiting for %s, and nothing is lost', async (_what, version, asked) => {
    upstream = installUpstream(once)
    await enable(version)
    const { id: session } = await callJson('/api/sessions', { json: { agent: 'waits' } })
    const json = { task: 'go', wait: true, ...asked }
    const { id: run, pauses } = await callJson(`/api/sessions/${session}/runs`, { json })
    const path = `/api/sessions/${session}/runs/${run}`
    const goOn = () =>
      pauses[0].kind === 'budget'
        ? call(`${path}/limits`, { json: { maxTurns: 9 } })
        : call(`${path}/decisions`, { json: { call: pauses[0].call, decision: 'approve' } })
    await call('/api/operator/plugins/waits/disable', { json: {} })
    await abortAllDurableObjects()
    const refused = await goOn()
    expect(refused.status).toBe(409)
    expect(((await refused.json()) as Answer).error.message).toContain('waits for a grant')
    const before = await callJson(path)
    expect([before.state, before.pauses]).toEqual(['parked', pauses])
    await enablePlugin('waits')
    expect((await goOn()).status).toBe(200)
    const { result } = await vi.waitFor(
      async () => {
        const view = await callJson(path)
        expect(view.state).toBe('completed')
        return view
      },
      { timeout: 15_000, interval: 20 },
    )
    expect(result.result).toBe('all set')
  })
})
