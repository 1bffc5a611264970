import { afterEach, expect, it } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

// The deployment's default model is free (ISOLA_PRICES of the tests); of any other nobody gave a price.
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

it('E1: a run with a cost limit asks the next model that has a price, not the one without', async () => {
  const { requests } = withModel(() => ({ text: 'hi' }))
  expect(await runOf({ model: 'openai/unpriced' })).toMatchObject({ state: 'completed' })
  expect(modelsOf(requests)).toEqual(['unpriced'])
  requests.length = 0
  expect(await runOf({ model: 'openai/unpriced', limits })).toMatchObject({ state: 'completed' })
  expect(modelsOf(requests)).toEqual(['scripted'])
})

it("E1: so does one whose principal's day has a cost limit, however high", async () => {
  const { requests } = withModel(() => ({ text: 'hi' }))
  const { key } = await callJson('/api/operator/keys', {
    json: { principal: 'thrifty', role: 'user', limits: { dailyCostUsd: 100 } },
  })
  await runOf({ model: 'openai/unpriced' }, { authorization: `Bearer ${key}` })
  expect(modelsOf(requests)).toEqual(['scripted'])
})

it('E1: so does a sub-agent of it', async () => {
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
  await runOf({ limits })
  expect(modelsOf(requests)).toEqual(['scripted'])
  expect(requests.some(({ messages }) => JSON.stringify(messages).includes('Think.'))).toBe(true)
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
