import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ModelConfig, ModelServer as Server } from '../../../src/platform/models/types.ts'
import type { ModelCallOptions, ModelParameters } from '#contracts/model.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import {
  createModelProviders,
  type ModelProvidersDeps,
} from '../../../src/platform/models/model-providers.ts'
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
} from '../../fakes/model-server.mjs'
import { callOptions } from './call-options.ts'
import { createHastyClock } from './upstreams.ts'
import { outboundOver } from '../../fakes/outbound.ts'

const hello = { role: 'user', text: 'Hello', taint: ['user'] } as const
let server: ModelServer
beforeEach(async () => {
  server = await startModelServer({ script: () => ({ text: 'ok' }) })
})
afterEach(() => server.close())

async function restart(options: ModelServerOptions): Promise<void> {
  await server.close()
  server = await startModelServer({ script: () => ({ text: 'ok' }), ...options })
}

function open(
  more: Partial<Server> = {},
  config: Partial<ModelConfig> = {},
  deps: Partial<ModelProvidersDeps> = {},
) {
  const clock = createHastyClock()
  const { provider } = createModelProviders(
    {
      isDevelopment: false,
      servers: [{ id: 'gateway', baseUrl: server.url, models: [], ...more }],
      ...config,
    },
    {
      ...outboundOver(fetch),
      sleep: clock.sleep,
      nowMs: clock.nowMs,
      buildIndex: createSearchIndex,
      ...deps,
    },
  )
  return (model: string, parameters: ModelParameters = {}, call: Partial<ModelCallOptions> = {}) =>
    provider
      .generate(
        { model: `gateway/${model}`, messages: [hello], tools: [], parameters },
        callOptions(call),
      )
      .then(
        ({ text }) => ({ text }),
        (error: unknown) => Object(error) as { code: string; message: string; detail?: string },
      )
}

/** Which fields of `max_tokens`, `max_completion_tokens` and `temperature` each request carried. */
const sent = () =>
  server.requests.map(({ body }) =>
    ['max_tokens', 'max_completion_tokens', 'temperature'].filter((field) => field in body),
  )

describe('the field of the output cap', () => {
  it.each([
    ['gpt-5', 'max_completion_tokens'],
    ['gpt-5-mini', 'max_completion_tokens'],
    ['openai/gpt-5.1-2025-11-13', 'max_completion_tokens'],
    ['openrouter/openai/gpt-5.6-sol', 'max_completion_tokens'],
    ['azure/o3', 'max_completion_tokens'],
    ['o4-mini', 'max_completion_tokens'],
    ['gpt-4o', 'max_tokens'],
    ['gpt-oss-120b', 'max_tokens'],
    ['openai/gpt-4.1-mini', 'max_tokens'],
    ['o3d-sculptor', 'max_tokens'],
    ['olmo-2', 'max_tokens'],
    ['llama3.2', 'max_tokens'],
  ])('of %s behind any gateway is %s', async (model, field) => {
    await open()(model)
    expect(sent()).toEqual([[field]])
  })

  it('is what the operator says of a server', async () => {
    await open({ outputCapField: 'max_completion_tokens' })('gpt-4o')
    await open({ outputCapField: 'max_tokens' })('gpt-5')
    expect(sent()).toEqual([['max_completion_tokens'], ['max_tokens']])
  })

  it('is the other one once a server says so, and from then on', async () => {
    await restart({ dialects: { deployment: 'reasoning', old: 'legacy' } })
    const ask = open()
    const failures: unknown[] = []
    const mayRetry = (failure: unknown) => failures.push(failure) > 0
    expect(await ask('deployment', {}, { mayRetry })).toEqual({ text: 'ok' })
    expect(await ask('deployment')).toEqual({ text: 'ok' })
    expect(sent()).toEqual([['max_tokens'], ['max_completion_tokens'], ['max_completion_tokens']])
    expect(failures).toMatchObject([{ code: 'model_refused_request' }])
    // Of another model nothing is known by that.
    await ask('gpt-4o')
    expect(sent().at(-1)).toEqual(['max_tokens'])
    // An operator's word can be wrong too.
    expect(await open({ outputCapField: 'max_completion_tokens' })('old')).toEqual({ text: 'ok' })
    expect(sent().slice(-2)).toEqual([['max_completion_tokens'], ['max_tokens']])
  })

  it('is tried once more only', async () => {
    const refuse = (field: string) => ({
      status: 422,
      body: { detail: [{ loc: ['body', field], msg: 'Extra inputs are not permitted' }] },
    })
    server.script([refuse('max_tokens'), refuse('max_completion_tokens')])
    expect(await open()('m')).toMatchObject({
      code: 'model_refused_request',
      detail: expect.stringContaining('Extra inputs are not permitted'),
    })
    expect(sent()).toEqual([['max_tokens'], ['max_completion_tokens']])
  })

  it('is not changed because the cap is too large, nor without leave of the lease', async () => {
    server.script([
      {
        status: 400,
        body: {
          error: {
            message:
              'max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999.',
            type: 'invalid_request_error',
            param: 'max_tokens',
            code: 'invalid_value',
          },
        },
      },
    ])
    expect(await open()('m')).toMatchObject({ code: 'model_refused_request' })
    expect(server.requests).toHaveLength(1)
    await restart({ dialects: { m: 'reasoning' } })
    expect(await open()('m', {}, { mayRetry: () => false })).toMatchObject({
      code: 'model_refused_request',
    })
    expect(server.requests).toHaveLength(1)
  })
})

it('a temperature that a model does not take is left out, and from then on', async () => {
  await restart({ dialects: { deployment: 'reasoning' } })
  const ask = open()
  expect(await ask('deployment', { temperature: 0.2 })).toEqual({ text: 'ok' })
  expect(await ask('deployment', { temperature: 0.2 })).toEqual({ text: 'ok' })
  expect(sent()).toEqual([
    ['max_tokens', 'temperature'],
    ['max_completion_tokens', 'temperature'],
    ['max_completion_tokens'],
    ['max_completion_tokens'],
  ])
})

describe('a model that its server does not have', () => {
  it('is model_not_found', async () => {
    await restart({ models: ['there'], onlyModels: true })
    expect(await open()('not-there')).toMatchObject({
      code: 'model_not_found',
      message: 'The model service has no model "not-there" (404).',
    })
    expect(await open()('there')).toEqual({ text: 'ok' })
  })

  it.each([
    [
      'Ollama',
      404,
      { error: { message: 'model "m" not found, try pulling it first', code: null } },
    ],
    ['vLLM', 404, { object: 'error', message: 'The model `m` does not exist.', code: 404 }],
    ['Azure', 404, { error: { code: 'DeploymentNotFound', message: 'The API deployment …' } }],
    ['OpenRouter', 400, { error: { message: 'm is not a valid model ID', code: 400 } }],
    ['Mistral', 400, { object: 'error', message: 'Invalid model: m', type: 'invalid_model' }],
  ])('is known in the words of %s', async (_who, status, body) => {
    server.script([{ status, body }])
    expect(await open()('m')).toMatchObject({ code: 'model_not_found' })
  })

  it('is not what a wrong address says', async () => {
    server.script([{ status: 404, body: '404 page not found' }])
    expect(await open()('llama3')).toMatchObject({ code: 'model_refused_request' })
  })
})

describe('what a server says of its refusal', () => {
  const refusal = { status: 400, body: { error: { message: 'tools are not for this one' } } }

  it('I30: is told to the operator who listens, and never to who asked', async () => {
    server.script([refusal])
    const told: unknown[] = []
    const answer = await open({}, {}, { onFailed: (failure) => told.push(failure) })('m')
    expect(answer).toMatchObject({
      message: 'The model service refused the request for "m" (400).',
    })
    expect(told).toMatchObject([{ detail: '400 tools are not for this one' }])
  })

  it('is for the record otherwise', async () => {
    server.script([refusal])
    expect(await open()('m')).toMatchObject({
      message: 'The model service refused the request for "m" (400).',
      detail: '400 tools are not for this one',
    })
  })
})
