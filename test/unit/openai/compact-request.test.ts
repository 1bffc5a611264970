import { describe, expect, it } from 'vitest'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'

const json = { model: 'orchestrator', input: [{ role: 'user', content: 'Hi' }] }
const path = '/v1/responses/compact'

describe('POST /v1/responses/compact', () => {
  it.each([
    ['x-isola-session', json, { 'x-isola-session': 'mine' }],
    ['conversation', { ...json, conversation: 'conv_1' }, {}],
    ['conversation', { ...json, conversation: { id: 'conv_1' } }, {}],
    ['previous_response_id', { ...json, previous_response_id: 'resp_1' }, {}],
  ])('refuses %s, which it would have to pass by', async (param, asked, headers) => {
    const { send, calls } = createFakeApp()
    const response = await send(path, { json: asked, headers })
    expect([response.status, await errorOf(response)]).toMatchObject([
      400,
      { code: 'unsupported_parameter', param },
    ])
    expect(calls).toEqual([])
  })

  it('passes over what codex sends besides', async () => {
    const { send } = createFakeApp()
    const more = { tools: [], parallel_tool_calls: true, conversation: null }
    expect((await send(path, { json: { ...json, ...more } })).status).toBe(200)
  })
})
