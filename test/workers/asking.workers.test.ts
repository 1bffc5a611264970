import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { composeRuntime } from '../../src/compose/composition.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { createTestSurface } from '../fakes/test-surface.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** Asks for a name, then for a color, and counts how often it began. */
const asker = {
  ...pluginBundle('asker', '', {
    contributes: {
      tools: [
        { name: 'ask', description: 'Asks twice.' },
        { name: 'again', description: 'Asks once.' },
      ],
    },
    grants: { request: ['elicit'], storage: '1mb' },
  }),
  code: `const form = (name) =>
    ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })
  export default () => ({ tools: {
    async ask(input, { request, storage }) {
      const begun = ((await storage.get('begun')) ?? 0) + 1
      await storage.set('begun', begun)
      const name = await request.elicit({ key: 'name', message: 'Name?', schema: form('name') })
      const color = await request.elicit({ key: 'color', message: 'Color?', schema: form('color') })
      return { name: name.content.name, color: color.content.color, begun }
    },
    async again(input, { request }) {
      const { action } = await request.elicit({ key: 'name', message: 'Name?', schema: form('name') })
      return action
    },
  } })`,
}
const accept = (content: object) => ({ action: 'accept', content })

const keyOf = async (principal: string): Promise<string> =>
  (await callJson('/api/operator/keys', { json: { principal, role: 'user' } })).key

beforeAll(async () => {
  await addPlugin(asker)
  await enablePlugin('asker')
})

describe('over /api, a run whose call asks', () => {
  it('E6: waits for days, survives the end of its object, and goes on with the answers of its owner alone', async () => {
    upstream = installUpstream(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: String(messages.at(-1)?.content) }
        : { calls: [{ name: 'isola__call', input: { name: 'asker__ask', input: {} } }] },
    )
    const { id: session } = await callJson('/api/sessions', { json: {} })
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
    const path = `/api/sessions/${session}/runs/${run}`
    const waiting = (key: string): Promise<Answer> =>
      vi.waitFor(
        async () => {
          const { state, pauses, result } = await callJson(path)
          expect(result).toBeUndefined()
          expect([state, Object.keys(pauses?.[0].asks ?? {})]).toEqual(['parked', [key]])
          return pauses[0]
        },
        { timeout: 60_000, interval: 50 },
      )
    const { call: id, asks } = await waiting('name')
    expect(asks.name).toMatchObject({ kind: 'elicit', message: 'Name?' })
    const { asksHash: shown } = await waiting('name')
    const decide = async (output: unknown, headers: Record<string, string> = {}) => {
      const asksHash = (await callJson(path)).pauses?.[0].asksHash ?? shown
      const json = { call: id, decision: 'result', output, asksHash }
      return call(`${path}/decisions`, { json, headers })
    }
    const late = (output: unknown, more: object) =>
      call(`${path}/decisions`, { json: { call: id, decision: 'result', output, ...more } })

    const other = { authorization: `Bearer ${await keyOf('asked-other')}` }
    expect((await decide({ name: accept({ name: 'Eve' }) }, other)).status).toBe(404)
    expect((await decide({ name: accept({ name: 'Eve' }), role: 'operator' })).status).toBe(400)
    expect((await decide('Eve')).status).toBe(400)
    await abortAllDurableObjects()
    expect((await decide({ name: accept({ name: 7 }) })).status).toBe(200)
    await vi.waitFor(
      async () => {
        const { pauses } = await callJson(path)
        expect(pauses?.[0].asks.name).toMatchObject({ tries: 1, problem: expect.any(String) })
      },
      { timeout: 60_000, interval: 50 },
    )
    expect((await decide({ name: accept({ name: 'Ann' }) })).status).toBe(200)
    await waiting('color')
    expect((await late({ color: accept({ color: 'red' }) }, { asksHash: shown })).status).toBe(409)
    expect((await late({ color: accept({ color: 'red' }) }, {})).status).toBe(400)
    await abortAllDurableObjects()
    expect((await decide({ color: accept({ color: 'red' }) })).status).toBe(200)
    const result = await vi.waitFor(
      async () => {
        const view = await callJson(path)
        expect(view.state).toBe('completed')
        return view.result
      },
      { timeout: 60_000, interval: 50 },
    )
    expect(JSON.parse(result.result)).toEqual({ name: 'Ann', color: 'red', begun: 4 })
    expect(result.usage.toolCalls).toBe(4)
  })
})

/** One request of a client of 2026-07-28, as it is on the wire. */
async function mcp(name: string, params: object = {}, key?: string): Promise<Answer> {
  const prefix = 'io.modelcontextprotocol/'
  const _meta = {
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientInfo`]: { name: 'test', version: '1' },
    [`${prefix}clientCapabilities`]: { elicitation: {} },
  }
  const response = await call('/mcp', {
    json: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: {}, ...params, _meta },
    },
    headers: {
      host: 'localhost',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  })
  const text = await response.text()
  const lines = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line] : []))
  return JSON.parse(lines.at(-1)?.slice('data: '.length) ?? text) as Answer
}

describe('over /mcp, the state of a call that asks', () => {
  it('T21: holds for its principal, its request and as it is', async () => {
    await callJson('/api/operator/exposed', { json: { exposed: { tools: ['asker__*'] } } })
    const [mine, other] = [await keyOf('asking-mine'), await keyOf('asking-other')]
    const first = await mcp('asker__ask', {}, mine)
    const { requestState, inputRequests, resultType } = first.result
    expect([resultType, inputRequests.name.method]).toEqual([
      'input_required',
      'elicitation/create',
    ])
    const inputResponses = { name: accept({ name: 'Ann' }) }
    const refused = { error: { code: -32602 } }
    const again = { inputResponses, requestState }
    expect(await mcp('asker__ask', again, other)).toMatchObject(refused)
    const middle = Math.floor(requestState.length / 2)
    const forged = [
      `${requestState}x`,
      `${requestState.slice(0, middle)}${requestState[middle] === 'A' ? 'B' : 'A'}${requestState.slice(middle + 1)}`,
      '',
      'v1.e30.e30',
    ]
    for (const state of forged.filter((one) => one !== ''))
      expect(await mcp('asker__ask', { inputResponses, requestState: state }, mine)).toMatchObject(
        refused,
      )
    // Of another call it is no state at all: that one begins anew, and asks for itself.
    const elsewhere = await mcp('asker__again', { requestState }, mine)
    expect(elsewhere.result?.content?.[0]?.text).not.toBe('accept')
    const second = await mcp('asker__ask', again, mine)
    expect(second.result.inputRequests).toHaveProperty('color')
    const done = await mcp(
      'asker__ask',
      {
        inputResponses: { color: accept({ color: 'red' }) },
        requestState: second.result.requestState,
      },
      mine,
    )
    expect(done.result.structuredContent).toEqual({ name: 'Ann', color: 'red', begun: 3 })
    await callJson('/api/operator/exposed', { json: { exposed: {} } })
  })
})

describe('over a surface that has no request, a run whose call asks', () => {
  it('E6: tells its questions one after the other, and goes on with what is answered', async () => {
    upstream = installUpstream(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: String(messages.at(-1)?.content) }
        : { calls: [{ name: 'isola__call', input: { name: 'asker__ask', input: {} } }] },
    )
    const { entry } = composeRuntime(env as unknown as Env).http
    const surface = createTestSurface(entry, { id: 'operator' })
    const { id: session } = await callJson('/api/sessions', { json: {} })
    const first = (await surface.say(session, 'go')) as Answer
    expect(first.asks).toMatchObject([{ key: 'name', kind: 'elicitation' }])
    const answer = async (content: object): Promise<Answer> =>
      surface.answer(session, first.run, { [Object.keys(content)[0]!]: accept(content) })
    expect((await answer({ name: 'Ada' })).asks).toMatchObject([{ key: 'color' }])
    expect((await answer({ color: 'blue' })).text).toContain('"name":"Ada","color":"blue"')
  })
})
