import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { connectLegacy, connectModern } from '../fakes/mcp-clients.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const says = (script: UpstreamScript) => (upstream = installUpstream(script))
const expose = (exposed: object): Promise<Answer> =>
  callJson('/api/operator/exposed', { json: { exposed } })
const policy = (json: object): Promise<Answer> =>
  callJson('/api/operator/policy', { json: { policy: json } })
afterEach(async () => {
  upstream?.restore()
  await expose({})
  await policy({})
})

const eras = [
  ['2026-07-28 (SDK v2)', connectModern],
  ['2025 (SDK v1)', connectLegacy],
] as const

describe.each(eras)('MCP for a client of %s', (_name, connect) => {
  it('M8: offers the orchestrator alone, runs it, and goes on with its session', async () => {
    const { requests } = says(({ messages }) => ({ text: `After ${messages.length} messages.` }))
    const client = await connect()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'orchestrator',
      'isola__run_status',
      'isola__run_cancel',
    ])
    const ask = async (given: object): Promise<Answer> =>
      client.callTool({ name: 'orchestrator', arguments: { task: '2 + 2?', ...given } })
    const first = await ask({})
    expect(first).toMatchObject({
      content: [{ type: 'text', text: 'After 2 messages.' }, {}],
      structuredContent: { state: 'completed', result: 'After 2 messages.' },
    })
    const { session, run } = first.structuredContent
    expect((await ask({ session })).structuredContent.result).toBe('After 4 messages.')
    const status: Answer = await client.callTool({
      name: 'isola__run_status',
      arguments: { session, run },
    })
    expect(status.structuredContent.result).toBe('After 2 messages.')
    const uri = `isola://sessions/${session}`
    const said = (await client.readResource({ uri })).contents as Answer
    expect(JSON.parse(said[0].text).messages).toHaveLength(4)
    expect(requests).toHaveLength(2)
    await client.close()
  })

  it('M8: tells why a call of an agent was refused also to who has listed its output schema', async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'orchestrator')).toHaveProperty('outputSchema')
    const given = { task: 'x', session: 'ses_zz' }
    const answer: Answer = await client.callTool({ name: 'orchestrator', arguments: given })
    expect(answer.isError).toBe(true)
    expect(answer.content[0].text).toBe('request_not_found: There is no such session or run.')
    await client.close()
  })

  it('N1: calls a chosen tool through the gates and on the record, without a model', async () => {
    const { requests } = says(() => ({ text: 'never' }))
    await expose({ tools: ['kv__*'], bare_names: ['kv__get'] })
    const client = await connect()
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get')
    const use = async (name: string, given: object): Promise<Answer> =>
      client.callTool({ name, arguments: { ...given } })
    expect((await use('kv__set', { key: 'a', value: 1 })).isError).toBeFalsy()
    expect((await use('kv__set', {})).content[0].text).toContain('tool_invalid_input')
    await policy({ deny: ['kv__*'] })
    const denied = await use('kv__set', { key: 'a', value: 1 })
    expect(denied).toMatchObject({ isError: true })
    expect(denied.content[0].text).toContain('tool_denied')
    expect(requests).toEqual([])
    await client.close()
  })

  it('tells how far it is', async () => {
    says(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'Done.' }
        : { calls: [{ name: 'kv__get', input: { key: 'a' } }] },
    )
    const client = await connect()
    const told: string[] = []
    const request = { name: 'orchestrator', arguments: { task: 'Go.' } }
    const onprogress = ({ message = '' }: { message?: string | undefined }) =>
      void told.push(message)
    await (client instanceof ClientV1
      ? client.callTool(request, undefined, { onprogress })
      : client.callTool(request, { onprogress }))
    expect(told).toContain('calls kv__get')
    await client.close()
  })
})

/** Another principal with a key of its own. */
async function keyOf(principal: string, more: object = {}): Promise<string> {
  const json = { principal, role: 'user', ...more }
  return (await callJson('/api/operator/keys', { json })).key as string
}

describe('MCP', () => {
  it('T17: refuses a host and an origin that are not this deployment’s', async () => {
    const ask = (headers: Record<string, string>) =>
      call('/mcp', { json: { jsonrpc: '2.0', id: 1, method: 'ping' }, headers })
    expect((await ask({ host: 'evil.example' })).status).toBe(403)
    expect((await ask({ host: 'localhost', origin: 'https://evil.example' })).status).toBe(403)
  })

  it('I26: a key offers no more than it may use', async () => {
    await addPlugin(pluginBundle('mcp-sayer', 'hello'))
    await enablePlugin('mcp-sayer')
    await expose({ agents: ['orchestrator', 'code-reviewer'], tools: ['mcp-sayer__*'] })
    const names = async (key?: string) => {
      const client = await connectModern(key)
      const { tools } = await client.listTools()
      await client.close()
      return tools.map(({ name }) => name)
    }
    expect(await names()).toContain('mcp-sayer__say')
    const narrow = await names(await keyOf('mcp-narrow', { agents: ['code-reviewer'] }))
    expect(narrow).toEqual(['code-reviewer', 'isola__run_status', 'isola__run_cancel'])
  })

  it("T2: another's run and another's conversation look absent", async () => {
    says(() => ({ text: 'Mine.' }))
    const mine = await connectModern()
    const task = { name: 'orchestrator', arguments: { task: 'Go.' } }
    const { session, run } = ((await mine.callTool(task)) as Answer).structuredContent
    const other = await connectModern(await keyOf('mcp-other'))
    const uri = `isola://sessions/${session}`
    await expect(other.readResource({ uri })).rejects.toThrow('not found')
    for (const name of ['isola__run_status', 'isola__run_cancel']) {
      const answer: Answer = await other.callTool({ name, arguments: { session, run } })
      expect(answer.content[0].text).toBe('request_not_found: There is no such session or run.')
    }
    await Promise.all([mine.close(), other.close()])
  })

  it.each(eras)('ends a run whose client of %s cancels', async (_name, connect) => {
    const { requests } = says(() => ({ text: 'late', wait: new Promise(() => {}) }))
    const client = await connect()
    const stop = new AbortController()
    const request = { name: 'orchestrator', arguments: { task: 'Go.' } }
    const { signal } = stop
    const asked: Promise<unknown> =
      client instanceof ClientV1
        ? client.callTool(request, undefined, { signal })
        : client.callTool(request, { signal })
    asked.catch(() => undefined)
    // Polls: a callback in another object's context cannot act here.
    await vi.waitFor(() => expect(requests).toHaveLength(1), 10_000)
    stop.abort()
    await expect(asked).rejects.toThrow()
    await vi.waitFor(async () => {
      const { sessions } = await callJson('/api/sessions?limit=1')
      expect(sessions[0]?.state).toBe('cancelled')
    })
    await client.close()
  })

  it('answers the run at once in the background, and can cancel it', async () => {
    says(() => ({ text: 'late', wait: new Promise(() => {}) }))
    const client = await connectModern()
    const begun: Answer = await client.callTool({
      name: 'orchestrator',
      arguments: { task: 'Go.', background: true },
    })
    const { session, run, state } = begun.structuredContent
    expect(['queued', 'running']).toContain(state)
    const ended = async () => {
      const place = { name: 'isola__run_cancel', arguments: { session, run } }
      const view: Answer = await client.callTool(place)
      expect(view.structuredContent.state).toBe('cancelled')
    }
    await vi.waitFor(ended, 10_000)
    await client.close()
  })

  it('E6: says what an approval is needed for, and answers the tool once it was given', async () => {
    await expose({ tools: ['kv__*'] })
    await policy({ allow_destructive: [] })
    const client = await connectModern()
    const parked: Answer = await client.callTool({ name: 'kv__delete', arguments: { key: 'a' } })
    const { session, run, state, waits_for: waits } = parked.structuredContent
    expect([state, waits]).toMatchObject(['parked', [{ kind: 'approval', tool: 'kv__delete' }]])
    const [{ call: id }] = waits
    const sent = await call(`/api/sessions/${session}/runs/${run}/decisions`, {
      json: { call: id, decision: 'approve' },
    })
    expect(sent.status).toBe(200)
    await vi.waitFor(async () => {
      const place = { name: 'isola__run_status', arguments: { session, run } }
      const view: Answer = await client.callTool(place)
      expect([view.isError ?? false, view.structuredContent?.state]).toEqual([false, undefined])
    })
    await client.close()
  })
})

const asker = () => ({
  ...pluginBundle('mcp-asker', '', {
    contributes: { tools: [{ name: 'ask', description: 'Asks for a name.' }] },
    grants: { request: ['elicit'] },
  }),
  code: `export default () => ({ tools: { async ask(input, { request }) {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const { action, content } = await request.elicit({ message: 'Your name?', schema })
    return action === 'accept' ? 'Hello ' + content.name : action
  } } })`,
})

describe('a tool that asks its client', () => {
  it('is answered by the client in between, and goes on', async () => {
    await addPlugin(asker())
    await enablePlugin('mcp-asker')
    await expose({ tools: ['mcp-asker__*'] })
    const [able, unable, old] = [
      await connectModern(undefined, { name: 'Ann' }),
      await connectModern(),
      await connectLegacy(),
    ]
    const tool = { name: 'mcp-asker__ask', arguments: {} }
    expect(await able.callTool(tool)).toMatchObject({ content: [{ text: 'Hello Ann' }] })
    await expect(unable.callTool(tool)).rejects.toThrow('capabilit')
    await vi.waitFor(async () => {
      const { sessions } = await callJson('/api/sessions?limit=1&stateless=true')
      expect(sessions[0]?.state).toBe('cancelled')
    })
    const waiting: Answer = await old.callTool(tool)
    expect(waiting.structuredContent).toMatchObject({ state: 'parked' })
    await Promise.all([able.close(), unable.close(), old.close()])
  })

  it('T17: goes on for the principal and with the call that were asked, and for no other', async () => {
    await addPlugin(asker())
    await enablePlugin('mcp-asker')
    await expose({ tools: ['mcp-asker__*', 'kv__get'] })
    const other = await keyOf('mcp-thief')
    const asked = await raw('mcp-asker__ask', {})
    const { requestState, inputRequests } = asked.result
    expect(inputRequests.elicit_1.params.message).toBe('Your name?')
    const answers = { elicit_1: { action: 'accept', content: { name: 'Ann' } } }
    const back = { requestState, inputResponses: answers }
    expect((await raw('mcp-asker__ask', back, other)).error.code).toBe(-32_602)
    expect((await raw('kv__get', { ...back, arguments: { key: 'a' } })).error.code).toBe(-32_602)
    const odd = { ...back, requestState: `${requestState.slice(0, -2)}AA` }
    expect((await raw('mcp-asker__ask', odd)).error.code).toBe(-32_602)
    const done = await raw('mcp-asker__ask', back)
    expect(done.result.content).toEqual([{ type: 'text', text: 'Hello Ann' }])
  })
})

/** One request as a client of 2026-07-28 writes it that can be asked. */
async function raw(name: string, more: object, key?: string): Promise<Answer> {
  const meta = (word: string) => `io.modelcontextprotocol/${word}`
  const _meta = {
    [meta('protocolVersion')]: '2026-07-28',
    [meta('clientInfo')]: { name: 'test', version: '1' },
    [meta('clientCapabilities')]: { elicitation: {} },
  }
  const params = { name, arguments: {}, ...more, _meta }
  const headers = {
    host: 'localhost',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  }
  const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const text = await (await call('/mcp', { json, headers })).text()
  const line = text.split('\n').findLast((one) => one.startsWith('data: '))
  return JSON.parse(line ? line.slice(6) : text) as Answer
}

describe('the list of exposed agents, tools and skills', () => {
  it('is on the record, and stays as it is when plugins go back', async () => {
    const { generation } = await expose({})
    const { notes, generation: now } = await expose({ tools: ['kv__get', 'nobody__*'] })
    expect(notes).toEqual(['+ tool kv__get', '+ tool nobody__*', 'There is no tool nobody__* now.'])
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.at(-1)).toMatchObject({
      type: 'exposure_changed',
      data: { added: ['tool kv__get', 'tool nobody__*'], removed: [], generation: now },
    })
    await callJson(`/api/operator/generations/${generation}/restore`, { json: {} })
    const { exposed } = await callJson('/api/operator/exposed')
    expect(exposed.tools).toEqual(['kv__get', 'nobody__*'])
  })

  it('is a document without a *, and wrong ones are told by field', async () => {
    const wrong = await call('/api/operator/exposed', { json: { exposed: { tools: ['*'] } } })
    const { error } = (await wrong.json()) as Answer
    expect([wrong.status, error.param]).toEqual([400, 'exposed.tools[0]'])
  })
})
