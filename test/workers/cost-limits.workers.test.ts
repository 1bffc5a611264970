import { afterEach, expect, it } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

// The deployment's default model is free (ISOLA_PRICES of the tests); no other model has a price.
let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const runOf = async (json: object, headers: Record<string, string> = {}): Promise<Answer> => {
  const { id } = await callJson('/api/sessions', { json: {}, headers })
  return callJson(`/api/sessions/${id}/runs`, {
    json: { task: 'go', wait: true, ...json },
    headers,
  })
}
const limits = { maxCostUsd: 0.001 }
const callThrough = (name: string, input: object): UpstreamScript => {
  return ({ model, messages }) => {
    if (model !== 'scripted') return { text: 'an unpriced answer' }
    const answer = messages.find(({ role }) => role === 'tool')
    return answer
      ? { text: String(answer.content) }
      : { calls: [{ name: 'isola__call', input: { name, input } }] }
  }
}

const modelsOf = (requests: readonly { readonly model: string }[]) => [
  ...new Set(requests.map(({ model }) => model)),
]

it('E1: with a cost limit an unpriced model is answered by no other: the error names it and the fix', async () => {
  const { requests } = withModel(() => ({ text: 'hi' }))
  expect(await runOf({ model: 'openai/unpriced' })).toMatchObject({ state: 'completed' })
  expect(modelsOf(requests)).toEqual(['unpriced'])
  requests.length = 0
  expect(await runOf({ model: 'openai/unpriced', limits })).toMatchObject({
    state: 'failed',
    result: {
      error: {
        code: 'model_price_unknown',
        message: expect.stringMatching(/openai\/unpriced.*ISOLA_PRICES/),
      },
    },
  })
  expect(requests).toEqual([])
})

it("E1: so with one whose principal's day has a cost limit, however high", async () => {
  const { requests } = withModel(() => ({ text: 'hi' }))
  const { key } = await callJson('/api/operator/keys', {
    json: { principal: 'thrifty', role: 'user', limits: { dailyCostUsd: 100 } },
  })
  const headers = { authorization: `Bearer ${key}` }
  expect(await runOf({ model: 'openai/unpriced' }, headers)).toMatchObject({ state: 'failed' })
  expect(requests).toEqual([])
})

it.each([
  ['chat', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  [
    'chat, streamed',
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'Hi' }], stream: true },
  ],
  ['responses', '/v1/responses', { input: 'Hi' }],
  ['responses, streamed', '/v1/responses', { input: 'Hi', stream: true }],
])(
  'E1: a name that is no agent and no listed model is 404 with a cost limit, not answered by the orchestrator: %s',
  async (name, path, body) => {
    const { requests } = withModel(() => ({ text: 'hi' }))
    const principal = `careful-${name.replace(/\W+/g, '-')}`
    const { key } = await callJson('/api/operator/keys', {
      json: { principal, role: 'user', limits: { dailyCostUsd: 100 } },
    })
    const headers = { authorization: `Bearer ${key}` }
    const response = await call(path, { json: { model: 'no-such-agent', ...body }, headers })
    const answer: Answer = await response.json()
    expect([response.status, answer.error.code]).toEqual([404, 'model_not_found'])
    expect(answer.error.message).toContain('"no-such-agent"')
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(requests).toEqual([])
  },
)

it("E1: so does a sub-agent's own model", async () => {
  const { requests } = withModel(callThrough('thinker__run', { task: 'x' }))
  await addPlugin({
    manifest: {
      id: 'thinker',
      name: 'Thinker',
      version: '1.0.0',
      description: 'Thinks.',
      agent: { integration_mode: 'tool', model: 'openai/unpriced', instructions: 'p.md' },
    },
    files: { 'p.md': 'Think.' },
  })
  await enablePlugin('thinker')
  expect((await runOf({})).result.result).toContain('an unpriced answer')
  requests.length = 0
  expect((await runOf({ limits })).result.result).toContain('openai/unpriced')
  expect(modelsOf(requests)).toEqual(['scripted'])
  expect(requests.some(({ messages }) => JSON.stringify(messages).includes('Think.'))).toBe(false)
})

it('E1: the code of a plugin that it calls is told so, and gets no other model', async () => {
  const { requests } = withModel(callThrough('asker__say', {}))
  await addPlugin({
    ...pluginBundle('asker', '', { grants: { model: { max_tokens: 9_000 } } }),
    code: `export default () => ({ tools: { async say(input, { model }) {
      return (await model.generate({ prompt: 'Hi', model: 'openai/unpriced' })).text
    } } })`,
  })
  await enablePlugin('asker')
  expect((await runOf({})).result.result).toContain('an unpriced answer')
  requests.length = 0
  expect((await runOf({ limits })).result.result).toContain('model_price_unknown')
  expect(modelsOf(requests)).toEqual(['scripted'])
})

it('a model that its server does not have is 404 model_not_found on /v1', async () => {
  const said = { message: 'The model `gone` does not exist.', code: 'model_not_found' }
  upstream = installUpstream(() => ({ status: 404, error: said }))
  for (const path of ['/v1/chat/completions', '/v1/responses']) {
    const body = path.endsWith('responses')
      ? { input: 'Hi' }
      : { messages: [{ role: 'user', content: 'Hi' }] }
    const response = await call(path, { json: { model: 'openai/gone', ...body } })
    const answer: Answer = await response.json()
    expect([response.status, answer.error?.code]).toEqual([404, 'model_not_found'])
  }
})
