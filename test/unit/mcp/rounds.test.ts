import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { labelFrom, saidLabel } from '../../../src/contracts/label.ts'
import { createMcpApp } from '../../fakes/mcp-app.ts'
import { testRun } from '../../fakes/http-deps.ts'

const hints = { isReadOnly: true, isIdempotent: true, isDestructive: false }
const kvGet = { name: 'kv__get', description: 'Gets.', inputSchema: { type: 'object' }, ...hints }

/** What the run waits for; a test may put another question in its place. */
const question = (call: string, key: string, message: string) => ({
  call,
  kind: 'question',
  tool: 'kv__get',
  expires: true,
  asks: { [key]: { kind: 'elicit', message, schema: { type: 'object' } } },
  asksHash: `hash of ${call} ${message}`,
})

function setUp(deps: object = {}) {
  const view = { state: 'parked', result: undefined, pauses: [question('c1', 'name', 'Name?')] }
  const world = { exposed: { tools: ['kv__*'] }, tools: [kvGet], view: view as never, deps }
  const app = createMcpApp(world)
  const meta = (word: string) => `io.modelcontextprotocol/${word}`
  const _meta = {
    [meta('protocolVersion')]: '2026-07-28',
    [meta('clientInfo')]: { name: 'test', version: '1' },
    [meta('clientCapabilities')]: { elicitation: {} },
  }
  const headers = (method: string) => ({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': 'kv__get',
  })
  const ask = (more: object = {}) => {
    const params = { name: 'kv__get', arguments: {}, ...more, _meta }
    return app.ask('tools/call', params, headers('tools/call'))
  }
  const decisions = () =>
    app.calls.flatMap(({ method, args }) => (method === 'decide' ? [args] : []))
  const ask2025 = (more: object) =>
    app.ask('tools/call', { name: 'kv__get', arguments: {}, ...more })
  return { ...app, view, ask, ask2025, decisions, _meta, headers }
}

const accept = { action: 'accept', content: {} }

describe('T21: what a client answers', () => {
  it('is given to the very question that it was shown', async () => {
    const { ask, decisions } = setUp()
    const { requestState, inputRequests } = (await ask()).result
    expect(Object.keys(inputRequests)).toEqual(['name'])
    await ask({ requestState, inputResponses: { name: accept } })
    const decision = { decision: 'result', output: { name: accept }, asksHash: 'hash of c1 Name?' }
    expect(decisions()).toEqual([['operator', testRun, 'c1', decision]])
  })

  it('T11: is known to come from one that was told the question', async () => {
    const told: unknown[] = []
    const toldClients = {
      said: async () => saidLabel,
      tell: async (_asker: unknown, label: unknown) => void told.push(label),
    }
    const { ask, view } = setUp({ toldClients })
    const page = labelFrom('page')
    view.pauses = [{ ...question('c1', 'name', 'Name?'), label: page } as never]
    expect((await ask()).result.resultType).toBe('input_required')
    expect(told).toEqual([page])
  })

  it.each([
    ['another question of the same call', question('c1', 'name', 'Delete it all?')],
    ['the same question of another call', question('c2', 'name', 'Name?')],
  ])('is no answer to %s under its key', async (_what, next) => {
    const { ask, decisions, view } = setUp()
    const { requestState } = (await ask()).result
    view.pauses = [next]
    const { result } = await ask({ requestState, inputResponses: { name: accept } })
    expect([result.resultType, decisions()]).toEqual(['input_required', []])
    expect(result.inputRequests.name.params.message).toBe(next.asks['name']?.['message'])
  })

  it('I26: is asked of no token without `approve` where a yes would let something happen, and taken from none', async () => {
    const of = (scopes: readonly string[]) => {
      const token = { scopes, couldHave: ['agents', 'approve'] }
      return setUp({ authenticate: async () => ({ id: 'ann', role: 'user', token }) })
    }
    const { ask, decisions, view } = of(['agents'])
    const { result } = await ask({ inputResponses: { name: accept } })
    expect(result.resultType).not.toBe('input_required')
    expect(decisions()).toEqual([])
    view.pauses = [{ ...question('c1', 'name', 'Name?'), isReadOnly: true } as never]
    expect((await ask()).result.resultType).toBe('input_required')
    expect((await of(['agents', 'approve']).ask()).result.resultType).toBe('input_required')
  })

  it('is not asked for by a call of 2025, whatever that says of its client', async () => {
    const { _meta } = setUp()
    const claims = Object.entries(_meta).filter(([key]) => !key.endsWith('/protocolVersion'))
    const tell = async (more: object) => {
      const { ask2025, calls } = setUp()
      const { result } = await ask2025(more)
      return { result, calls: calls.map(({ method }) => method) }
    }
    const plain = await tell({})
    expect(await tell({ _meta: Object.fromEntries(claims) })).toEqual(plain)
  })

  it('may come along with a call that is new', async () => {
    const { ask, decisions } = setUp()
    await ask({ inputResponses: { name: accept, other: accept } })
    expect(decisions()).toHaveLength(1)
  })
})

describe('a deployment without ISOLA_MASTER_KEY', () => {
  it('T17: asks no question, says what is missing, and leaves no run waiting', async () => {
    const { ask, calls } = setUp({ stateKey: undefined })
    const { result } = await ask()
    expect(result.content[0].text).toContain('config_missing: A call that asks')
    expect(result.content[0].text).toContain('ISOLA_MASTER_KEY')
    expect(calls.map(({ method }) => method)).toContain('cancel')
  })

  it('T17: takes no sealed state', async () => {
    const { requestState } = (await setUp().ask()).result
    const { ask, calls } = setUp({ stateKey: undefined })
    expect((await ask({ requestState })).error.code).toBe(-32_602)
    expect(calls).toEqual([])
  })
})

describe('a fault before a server is made', () => {
  it('F1: is told as everywhere else', async () => {
    const exposed = async () => {
      throw new IsolaError('request_unavailable', 'Try again.', { retryAfterMs: 2_000 })
    }
    const { send } = createMcpApp({ deps: { plugins: { exposed } as never } })
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const headers = { accept: 'application/json, text/event-stream' }
    const response = await send('http://localhost/mcp', { json, headers })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
  })
})

describe('subscriptions', () => {
  it('T27: are refused: nothing is ever said on them', async () => {
    const { send, headers, _meta } = setUp()
    const method = 'subscriptions/listen'
    const params = { _meta, notifications: { toolsListChanged: true } }
    const response = await send('http://localhost/mcp', {
      json: { jsonrpc: '2.0', id: 7, method, params },
      headers: { accept: 'application/json, text/event-stream', ...headers(method) },
    })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32_601 } })
  })
})
