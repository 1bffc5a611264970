import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** An agent with a tool of its own, as an author uploads it in one version. */
const versionOf = (version: string) => ({
  ...pluginBundle('pinner', `said by ${version}`, {
    version,
    agent: {
      integration_mode: 'tool',
      model: `openai/model-${version}`,
      instructions: 'p.md',
      uses_tools: ['kv', 'pinner'],
    },
  }),
  files: { 'p.md': `You are version ${version}.` },
})

async function enable(version: string): Promise<void> {
  await addPlugin(versionOf(version), { now: true })
  await enablePlugin('pinner')
}

const start = async () => {
  const { id } = await callJson('/api/sessions', { json: { agent: 'pinner' } })
  const json = { task: 'go', wait: true, requireApproval: ['kv__set'] }
  return callJson(`/api/sessions/${id}/runs`, { json })
}

const ended = ({ session, id }: Answer): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const view = await callJson(`/api/sessions/${session}/runs/${id}`)
      expect(view.state).toBe('completed')
      return view
    },
    { timeout: 60_000, interval: 20 },
  )

describe('I19: a run that waits while its plugin is updated', () => {
  it('goes on as it began after a restart, and is refused the tool that changed', async () => {
    const say = { name: 'pinner__say', input: {} }
    const script = [{ name: 'kv__set', input: { key: 'a', value: 1 } }, say, say]
    upstream = installUpstream(({ messages }) => {
      const next = script[messages.filter(({ role }) => role === 'tool').length]
      return next ? { calls: [next] } : { text: 'done' }
    })
    await enable('1.0.0')
    const parked = await start()
    expect(parked.state).toBe('parked')
    await enable('2.0.0')
    await abortAllDurableObjects()
    const [{ call }] = parked.pauses
    const decisions = `/api/sessions/${parked.session}/runs/${parked.id}/decisions`
    await callJson(decisions, { json: { call, decision: 'approve' } })
    const { result } = await ended(parked)
    const told = ({ tool, ok, code }: Answer) => [tool, ok || code]
    expect(result.actions.map(told)).toEqual([
      ['kv__set', true],
      ['pinner__say', 'tool_changed'],
      ['pinner__say', true],
    ])
    const { requests } = upstream
    expect(requests.map(({ model }) => model)).toEqual(Array(4).fill('model-1.0.0'))
    for (const { messages } of requests)
      expect(String(messages[0]?.content)).toContain('You are version 1.0.0.')
    expect(JSON.stringify(requests[3]!.messages.at(-1))).toContain('said by 2.0.0')
    await start()
    expect(requests.at(-1)).toMatchObject({ model: 'model-2.0.0' })
  })
})
