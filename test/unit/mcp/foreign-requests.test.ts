import { describe, expect, it } from 'vitest'
import { createMcpApp, directResult } from '../../fakes/mcp-app.ts'

const hints = { isReadOnly: true, isIdempotent: true, isDestructive: false }
const kvGet = { name: 'kv__get', description: 'Gets.', inputSchema: { type: 'object' }, ...hints }
const createApp = () =>
  createMcpApp({
    exposed: { tools: ['kv__*'], prompts: ['notes'] },
    tools: [kvGet],
    offers: {
      resources: [],
      prompts: [{ owner: 'notes', name: 'sum', arguments: [{ name: 'of' }] }],
    },
    result: directResult('hi'),
  })

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function post(json: object, more: Record<string, string> = {}) {
  const app = createApp()
  const accept = 'application/json, text/event-stream'
  const response = await app.send('http://localhost/mcp', { json, headers: { accept, ...more } })
  const text = await response.text()
  const line = text.split('\n').findLast((one) => one.startsWith('data: '))
  const body = text === '' ? undefined : JSON.parse(line ? line.slice(6) : text)
  return { status: response.status, body, app }
}
const ask = (method: unknown, params?: unknown, more: object = {}) =>
  post({ jsonrpc: '2.0', id: 1, method, ...(params !== undefined && { params }), ...more })

describe('A 14: nulls in what a client asks at /mcp are as good as absent', () => {
  it.each<readonly [string, unknown]>([
    ['tools/list', null],
    ['tools/list', { _meta: null }],
    ['tools/list', { cursor: null, _meta: { progressToken: null } }],
    ['prompts/list', { cursor: null }],
    ['resources/list', { cursor: null }],
    ['resources/templates/list', null],
    ['skills/list', { cursor: null, uri: null }],
    ['ping', null],
    ['tools/call', { name: 'kv__get', arguments: null }],
    ['tools/call', { name: 'kv__get', arguments: null, _meta: null, task: null }],
    ['prompts/get', { name: 'notes__sum', arguments: null }],
    ['prompts/get', { name: 'notes__sum', arguments: { of: null } }],
    [
      'initialize',
      {
        protocolVersion: '2025-06-18',
        capabilities: null,
        clientInfo: { name: 'c', version: '1', title: null, icons: null },
      },
    ],
    [
      'initialize',
      {
        protocolVersion: '2025-06-18',
        capabilities: {
          roots: null,
          sampling: null,
          elicitation: { form: null },
          experimental: null,
        },
        clientInfo: { name: 'c', version: null, websiteUrl: null },
      },
    ],
  ])('%s with %j', async (method, params) => {
    const { status, body } = await ask(method, params)
    expect([status, body.error]).toEqual([200, undefined])
  })

  it('a notification with params: null is taken', async () => {
    for (const method of ['notifications/initialized', 'notifications/cancelled'])
      expect(await post({ jsonrpc: '2.0', method, params: null })).toMatchObject({ status: 202 })
  })

  it('of a request of 2026-07-28 likewise', async () => {
    const _meta = {
      ...envelope,
      'io.modelcontextprotocol/clientInfo': null,
      'io.modelcontextprotocol/logLevel': null,
      progressToken: null,
    }
    const params = {
      _meta,
      name: 'kv__get',
      arguments: null,
      inputResponses: null,
      requestState: null,
    }
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'kv__get',
    }
    const { status, body } = await post(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers,
    )
    expect([status, body.error]).toEqual([200, undefined])
  })

  it('an agent is called where the arguments that may be absent are null', async () => {
    const given = { task: 'Go.', session: null, background: null }
    const { body, app } = await ask('tools/call', { name: 'orchestrator', arguments: given })
    expect(body.result.isError).not.toBe(true)
    expect(app.submitted()).toMatchObject({ messages: [{ text: 'Go.' }] })
  })

  it('a null in what a tool is given is the tool’s to read', async () => {
    const given = { a: null, b: [null], c: { d: null } }
    const { app } = await ask('tools/call', { name: 'kv__get', arguments: given })
    expect(app.submitted()).toMatchObject({ directCall: { tool: 'kv__get', input: given } })
  })
})

describe('A 14: what cannot be read at /mcp is told by its field', () => {
  it.each<readonly [string, unknown, string]>([
    ['tools/list', { cursor: 5 }, 'params.cursor'],
    ['prompts/list', { cursor: {} }, 'params.cursor'],
    ['skills/list', { cursor: 5 }, 'params.cursor'],
    ['tools/call', undefined, 'params.name'],
    ['tools/call', { name: null }, 'params.name'],
    ['tools/call', { name: ['kv__get'] }, 'params.name'],
    ['tools/call', { name: 'kv__get', arguments: 'x' }, 'params.arguments'],
    ['tools/call', { name: 'kv__get', arguments: [1] }, 'params.arguments'],
    ['resources/read', { uri: null }, 'params.uri'],
    ['resources/subscribe', { uri: 7 }, 'params.uri'],
    ['skills/get', { uri: 7 }, 'params.uri'],
    ['prompts/get', { name: 7 }, 'params.name'],
    ['prompts/get', { name: 'notes__sum', arguments: { of: 7 } }, 'params.arguments.of'],
    ['completion/complete', { ref: null, argument: null }, 'params.ref'],
    ['completion/complete', { ref: { type: 'ref/prompt' }, argument: {} }, 'params.ref.name'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: null } },
      'params.argument.value',
    ],
    ['logging/setLevel', { level: null }, 'params.level'],
    ['initialize', { protocolVersion: null, clientInfo: { name: 'c' } }, 'params.protocolVersion'],
    ['initialize', { protocolVersion: '2025-06-18', clientInfo: null }, 'params.clientInfo'],
  ])('%s with %j names %s', async (method, params, field) => {
    const { status, body } = await ask(method, params)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: 1, error: { code: -32_602 } })
    expect(body.error.message).toMatch(new RegExp(`^${field.replaceAll('.', '\\.')}: `))
    expect(body.error.message).not.toMatch(/[[{]\s*\n/)
  })

  it.each<readonly [object, unknown, string]>([
    [{ jsonrpc: '2.0', id: null, method: 'ping' }, null, 'id'],
    [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, null, 'id'],
    [{ jsonrpc: '2.0', id: {}, method: 'ping' }, null, 'id'],
    [{ jsonrpc: null, id: 1, method: 'ping' }, 1, 'jsonrpc'],
    [{ id: 'a', method: 'ping' }, 'a', 'jsonrpc'],
    [{ jsonrpc: '2.0', id: 1, method: null }, 1, 'method'],
    [{ jsonrpc: '2.0', id: 1 }, 1, 'method'],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: 'x' }, 1, 'params'],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: 'x' } }, 1, 'params._meta'],
    [
      { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { progressToken: {} } } },
      1,
      'params._meta.progressToken',
    ],
  ])('%j is no message', async (json, id, field) => {
    const { status, body } = await post(json)
    expect(status).toBe(400)
    expect(body).toMatchObject({ id, error: { code: -32_600 } })
    expect(body.error.message.startsWith(`${field}: `)).toBe(true)
  })
})

it('A 12: half of a surrogate pair in what a client asks is well-formed', async () => {
  const app = createApp()
  const body = String.raw`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kv__get","arguments":{"a\ud83d":"b\udc00"}}}`
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  await app.send('http://localhost/mcp', { method: 'POST', body, headers })
  expect(app.submitted()).toMatchObject({ directCall: { input: { 'a\ufffd': 'b\ufffd' } } })
})
