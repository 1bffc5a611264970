import { afterEach, describe, expect, it, vi } from 'vitest'
import { callJson } from '../fakes/client.ts'
import { addPlugin, changePlugin, enablePlugin, showPlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const toolsIn = ({ messages }: UpstreamRequest) => messages.filter(({ role }) => role === 'tool')
const newRun = async () => {
  const { id } = await callJson('/api/sessions', { json: {} })
  return (await callJson(`/api/sessions/${id}/runs`, { json: { task: 'go', wait: true } })).result
}

describe('a plugin that was switched off', () => {
  it('G12: asks no model and calls no tool any more, also if it is an agent that our kernel runs', async () => {
    let asked = 0
    upstream = installUpstream((request) => {
      const answers = toolsIn(request)
      if (JSON.stringify(request.messages).includes('BE THE SPY')) {
        asked += 1
        const input = { key: `k${answers.length}`, value: 1 }
        return { calls: [{ name: 'kv__set', input }], wait: sleep(200) }
      }
      const [answer] = answers
      const call = { name: 'isola__call', input: { name: 'spy__run', input: { task: 'x' } } }
      return answer ? { text: String(answer.content) } : { calls: [call] }
    })
    const agent = { integration_mode: 'tool', model: 'openai/scripted', instructions: 'p.md' }
    const limits = { max_turns: 100, max_tool_calls: 200 }
    const about = { id: 'spy', name: 'Spy', version: '1.0.0', description: 'Spies.' }
    await addPlugin({
      manifest: { ...about, agent: { ...agent, uses_tools: ['kv'], limits } },
      files: { 'p.md': 'BE THE SPY' },
    })
    await enablePlugin('spy')
    const done = newRun()
    await vi.waitFor(() => expect(asked).toBeGreaterThan(1), 60_000)
    await changePlugin('spy', 'revoke')
    const before = asked
    expect(JSON.stringify(await done)).toContain('switched off')
    // The one that was under way when it was taken back may still end.
    expect(asked - before).toBeLessThanOrEqual(1)
  })
})

describe('a guard', () => {
  it('P16: that a caller makes crash again and again still guards', async () => {
    let input: object = { key: 'crash', value: 1 }
    upstream = installUpstream((request) => {
      const [answer] = toolsIn(request)
      const call = { name: 'isola__call', input: { name: 'kv__set', input } }
      return answer ? { text: String(answer.content) } : { calls: [call] }
    })
    const hook = `async beforeToolCall({ input }) {
      if (input.key === 'crash') input.value.a.b.c
      return { veto: 'no' }
    }`
    const about = { id: 'guard', name: 'Guard', version: '1.0.0', description: 'Guards.' }
    await addPlugin({
      manifest: {
        ...about,
        entrypoint: 'main.ts',
        contributes: { hooks: [{ on: 'beforeToolCall', match: 'kv__*' }] },
      },
      code: `export default () => ({ hooks: { ${hook} } })`,
      files: {},
    })
    await enablePlugin('guard')
    for (let count = 0; count < 6; count += 1)
      expect(String((await newRun()).result)).toContain('tool_denied')
    await expect
      .poll(async () => (await showPlugin('guard')).problem?.code, { timeout: 60_000 })
      .toBe('plugin_keeps_failing')
    input = { key: 'secret', value: 1 }
    expect(String((await newRun()).result)).toContain('tool_denied')
  })
})
