import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** Three turns, each with one call and a text, then an answer. */
const threeFacts: UpstreamScript = ({ messages }) => {
  const from = messages.findLastIndex(({ role }) => role === 'user')
  const count = messages.slice(from).filter(({ role }) => role === 'tool').length
  if (count === 3) return { text: 'all set' }
  return {
    text: `fact ${count}`,
    calls: [{ name: 'kv__set', input: { key: `k${count}`, value: count } }],
  }
}

const eventually = (path: string, state: string): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const view = await callJson(path)
      expect(view.state).toBe(state)
      return view
    },
    { timeout: 60_000, interval: 20 },
  )
const pathOf = (headers: Headers) =>
  `/api/sessions/${headers.get('x-isola-session')}/runs/${headers.get('x-isola-run')}`

/** An agent that every principal may talk to, with as many turns as it is given. */
async function enable(version: string, limits: object): Promise<void> {
  await addPlugin({
    ...pluginBundle('limited', 'x', {
      version,
      agent: {
        integration_mode: 'tool',
        model: 'openai/limited',
        instructions: 'p.md',
        uses_tools: ['kv'],
        limits,
      },
    }),
    files: { 'p.md': 'You are limited.' },
  })
  await enablePlugin('limited')
}

describe('E1: a limit that is reached at /v1', () => {
  const chat = (headers: Record<string, string> = {}, more: object = {}) =>
    call('/v1/chat/completions', {
      json: { model: 'limited', messages: [{ role: 'user', content: 'go' }], ...more },
      headers,
    })

  it('parks the run of a named session, which goes on once it is raised', async () => {
    upstream = installUpstream(threeFacts)
    await enable('1.0.0', { max_turns: 2 })
    const answer = await chat({ 'x-isola-session': 'asked-1' })
    const [choice] = ((await answer.json()) as Answer).choices
    expect(choice.finish_reason).toBe('length')
    expect(choice.message.content).toMatch(/^fact 0\n\nfact 1\n\n\(The limit of 2 turns/)
    const path = pathOf(answer.headers)
    expect(choice.message.content).toContain(`${path}/limits`)
    await eventually(path, 'parked')
    await callJson(`${path}/limits`, { json: { maxTurns: 9 } })
    const { result } = await eventually(path, 'completed')
    expect(result.result).toContain('all set')
  })

  it('ends a stream of a named session with what was said and how to go on', async () => {
    upstream = installUpstream(threeFacts)
    await enable('1.0.1', { max_turns: 2 })
    const answer = await chat({ 'x-isola-session': 'asked-2' }, { stream: true })
    const chunks = (await readSse(answer)).map(({ data }) => data)
    const text = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')
    expect(text).toMatch(/^fact 0\n\nfact 1\n\n\(The limit of 2 turns.*isola run raise/)
    expect(chunks.at(-1)).toBe('[DONE]')
    await eventually(pathOf(answer.headers), 'parked')
  })

  it('stops a run without a named session, with the answer so far and how to go on', async () => {
    upstream = installUpstream(threeFacts)
    await enable('1.0.2', { max_turns: 2 })
    const answer = await chat()
    const [choice] = ((await answer.json()) as Answer).choices
    expect(choice.message.content).toMatch(/^fact 0\n\nfact 1\n\n\(Stopped: .*name a session/)
    expect(choice.finish_reason).toBe('length')
    await eventually(pathOf(answer.headers), 'stopped')
    const streamed = (await readSse(await chat({}, { stream: true }))).map(({ data }) => data)
    const text = streamed.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')
    expect(text).toMatch(/^fact 0\n\nfact 1\n\n\(Stopped: .*name a session/)
  })

  it('leaves the response of a conversation incomplete until it is raised', async () => {
    upstream = installUpstream(threeFacts)
    const { id: conversation } = await callJson('/v1/conversations', { json: {} })
    const json = { model: 'isola', input: 'go', conversation, max_tool_calls: 1 }
    const response = await call('/v1/responses', { json })
    const first = (await response.json()) as Answer
    expect(first).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'lease_tool_calls', message: expect.stringMatching(/limits/) },
    })
    const path = pathOf(response.headers)
    await eventually(path, 'parked')
    await callJson(`${path}/limits`, { json: { maxToolCalls: 9 } })
    await eventually(path, 'completed')
    const later = await callJson(`/v1/responses/${first.id}`)
    expect(later).toMatchObject({ status: 'completed', incomplete_details: null })
    expect(JSON.stringify(later.output)).toContain('all set')
  })

  it('leaves a response in the background in progress, and says how to go on without a person to ask', async () => {
    upstream = installUpstream(threeFacts)
    const json = { model: 'isola', input: 'go', background: true, max_tool_calls: 1 }
    const response = await call('/v1/responses', { json })
    const { id } = (await response.json()) as Answer
    await eventually(pathOf(response.headers), 'parked')
    expect((await callJson(`/v1/responses/${id}`)).status).toBe('in_progress')
    const begun = await call('/v1/responses', { json: { ...json, stream: true } })
    for (const stream of [begun, await call(`/v1/responses/${id}?stream=true`)]) {
      const data = (await readSse(stream)).map((event) => event.data)
      expect(data.at(-1)).toBe('[DONE]')
      const types = data.map(({ type }) => type)
      expect(types).toContain('response.in_progress')
      expect(types.join()).not.toMatch(/error|response\.(failed|incomplete|completed)/)
    }
    const alone = { model: 'isola', input: 'go', max_tool_calls: 1 }
    const stopped = await callJson('/v1/responses', { json: alone })
    expect(stopped.incomplete_details).toMatchObject({
      reason: 'lease_tool_calls',
      message: expect.stringContaining('name a session'),
    })
  })
})

describe('E1, I19: an agent whose limits an operator lowers while a run of it waits', () => {
  it('is held to the lower one, with what was spent before; a raise after that holds', async () => {
    upstream = installUpstream(threeFacts)
    await enable('2.0.0', { max_turns: 9 })
    const { id: session } = await callJson('/api/sessions', { json: { agent: 'limited' } })
    const json = { task: 'go', wait: true, requireApproval: ['kv__set'] }
    const parked = await callJson(`/api/sessions/${session}/runs`, { json })
    const path = `/api/sessions/${session}/runs/${parked.id}`
    const approve = async ({ pauses }: Answer) => {
      const { call: id } = pauses[0]
      await callJson(`${path}/decisions`, { json: { call: id, decision: 'approve' } })
    }
    await approve(parked)
    const second = await vi.waitFor(async () => {
      const view = await callJson(path)
      expect(view.pauses?.[0].call).toMatch(/^call_2_/)
      return view
    })
    // Raised before it is lowered: the lower one holds.
    await callJson(`${path}/limits`, { json: { maxTurns: 30 } })
    await enable('2.0.1', { max_turns: 1 })
    await abortAllDurableObjects()
    await approve(second)
    const lowered = await vi.waitFor(async () => {
      const view = await callJson(path)
      expect(view.pauses?.[0].reached).toMatchObject({ limit: 'maxTurns' })
      return view
    })
    expect(lowered.pauses[0].reached).toMatchObject({ allowed: 1, spent: 2, needed: 3 })
    await callJson(`${path}/limits`, { json: { maxTurns: 30 } })
    await approve(
      await vi.waitFor(async () => {
        const view = await callJson(path)
        expect(view.pauses?.[0].call).toMatch(/^call_3_/)
        return view
      }),
    )
    const { result } = await eventually(path, 'completed')
    expect(result.result).toContain('all set')
  })
})
