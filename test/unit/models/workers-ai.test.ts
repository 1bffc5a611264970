import { describe, expect, it } from 'vitest'
import type { ModelCallOptions, ModelRequest } from '#contracts/model.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { priceFile } from '../../../src/platform/models/price-data.ts'
import { readPriceFile } from '../../../src/platform/models/prices.ts'
import { createWorkersAiProvider } from '../../../src/platform/models/registered-backends.ts'
import type { WorkersAi } from '../../../src/platform/models/workers-ai/binding-fetch.ts'
import { callOptions } from './call-options.ts'
import { createHastyClock, createWorld, runOn, streamed } from './upstreams.ts'
import { noNetwork, outboundOver } from '../../fakes/outbound.ts'

const model = '@cf/zai-org/glm-4.7-flash'
const events = (...pieces: readonly unknown[]): Response =>
  new Response(
    [...pieces.map((piece) => JSON.stringify(piece)), '[DONE]']
      .map((text) => `data: ${text}\n\n`)
      .join(''),
    { headers: { 'content-type': 'text/event-stream' } },
  )

/** A binding as workerd's: with `returnRawResponse` it hands out whatever the service answered. */
type Said = () => Response

function createFakeAi(replies: readonly Said[]) {
  const runs: {
    model: string
    inputs: Record<string, unknown>
    signal: AbortSignal | undefined
  }[] = []
  const ai: WorkersAi = {
    async run(name, inputs, { returnRawResponse, signal }) {
      if (!returnRawResponse) throw new Error('only raw responses tell a status')
      runs.push({ model: name, inputs, signal })
      const reply = replies[runs.length - 1] ?? replies.at(-1)
      if (!reply) throw new Error('the script is over')
      return reply()
    },
  }
  return { ai, runs }
}

async function ask(
  replies: readonly Said[],
  more: Partial<ModelRequest> = {},
  options: Partial<ModelCallOptions> = {},
) {
  const { ai, runs } = createFakeAi(replies)
  const { sleep, waits } = createHastyClock()
  const provider = createWorkersAiProvider({
    ai,
    over: outboundOver(noNetwork, { sleep }).over,
    sleep,
    tokens: createTokenEstimator(),
    priceOf: readPriceFile(priceFile, 'cloudflare').priceOf,
  })
  const request: ModelRequest = {
    model,
    messages: [{ role: 'user', text: 'Hello', taint: ['user'] }],
    tools: [],
    parameters: {},
    ...more,
  }
  const deltas: string[] = []
  const outcome = await provider
    .generate(request, callOptions({ onDelta: (text) => deltas.push(text), ...options }))
    .then(
      (reply) => ({ reply, error: undefined }),
      (error: unknown) => ({ reply: undefined, error }),
    )
  return { ...outcome, deltas, runs, waits, provider, request }
}

describe('Workers AI', () => {
  it('is asked through the binding in the OpenAI form, and its stream is read', async () => {
    const { reply, deltas, runs } = await ask([() => streamed('Hello there')], {
      messages: [
        { role: 'user', text: 'Hello', taint: ['user'] },
        {
          role: 'assistant',
          text: '',
          toolCalls: [{ id: 'c', name: 't', input: {} }],
          taint: ['model'],
        },
        { role: 'tool', callId: 'c', name: 't', output: 'x', isError: false, taint: ['tool:t'] },
      ],
      tools: [{ name: 't', description: 'd', inputSchema: { type: 'object' } }],
      parameters: { toolChoice: 'required', maxOutputTokens: 50 },
    })
    expect(reply).toMatchObject({
      text: 'Hello there',
      provider: 'workers-ai',
      finishReason: 'stop',
      usage: { inputTokens: 100, outputTokens: 10, priced: true, costNanoUsd: 10_050 },
    })
    expect(deltas.join('')).toBe('Hello there')
    expect(runs[0]).toMatchObject({
      model,
      inputs: {
        stream: true,
        max_tokens: 50,
        tool_choice: 'required',
        messages: [{ content: 'Hello' }, { content: '' }, { content: 'x' }],
        tools: [{ type: 'function', function: { name: 't' } }],
      },
    })
    expect(runs[0]?.inputs).not.toHaveProperty('model')
  })

  it('is read in one piece when it is not watched', async () => {
    const whole = () =>
      Response.json({
        choices: [{ message: { content: 'Whole' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: 1 },
      })
    const { reply, runs } = await ask([whole], {}, { isUnwatched: true })
    expect(reply?.text).toBe('Whole')
    expect(runs[0]?.inputs.stream).toBe(false)
  })

  it('is read in its own older form too: pieces, calls with objects, usage', async () => {
    const { reply, deltas } = await ask(
      [
        () =>
          events(
            { response: 'Let me ' },
            { response: 'look.', p: 'padding' },
            { tool_calls: [{ name: 'kv__get', arguments: { key: 'a' } }] },
            { response: '', usage: { prompt_tokens: 7, completion_tokens: 3 } },
          ),
      ],
      { model: '@cf/meta/llama-unpriced' },
    )
    expect(deltas.join('')).toBe('Let me look.')
    expect(reply).toMatchObject({
      toolCalls: [{ id: 'call_1', name: 'kv__get', input: { key: 'a' } }],
      finishReason: 'tool_calls',
      usage: { inputTokens: 7, outputTokens: 3, priced: false, costNanoUsd: 0 },
    })
  })

  it('is read in its own older form in one piece', async () => {
    const whole = () =>
      Response.json({
        response: { city: 'Ulm' },
        tool_calls: [{ id: 'x', function: { name: 't', arguments: '{"a":1}' } }],
        usage: { prompt_tokens: 7, completion_tokens: 3 },
      })
    const { reply } = await ask([whole], {}, { isUnwatched: true })
    expect(reply).toMatchObject({
      text: '{"city":"Ulm"}',
      toolCalls: [{ id: 'x', input: { a: 1 } }],
    })
  })

  it.each<[string, Said, string, number]>([
    [
      'is out of capacity',
      () => Response.json({ internalCode: 3040, description: 'Capacity' }, { status: 429 }),
      'model_rate_limited',
      3,
    ],
    [
      'has used up its free allocation',
      () => Response.json({ errors: [{ code: 3036, message: 'neurons' }] }, { status: 429 }),
      'model_rate_limited',
      1,
    ],
    [
      'does not know the model',
      () => Response.json({ errors: [{ code: 5007, message: 'No such model' }] }, { status: 400 }),
      'model_refused_request',
      1,
    ],
    [
      'refuses the account',
      () => Response.json({ errors: [{ code: 5018, message: 'no' }] }, { status: 403 }),
      'model_auth',
      1,
    ],
    ['is down', () => new Response('oops', { status: 500 }), 'model_unavailable', 3],
    [
      'cannot be reached',
      () => {
        throw new Error('connection lost')
      },
      'model_network',
      3,
    ],
    [
      'answers with nonsense',
      () => events('x', 1, null, { response: { a: 1 } }),
      'model_invalid_reply',
      1,
    ],
    [
      'answers with something else',
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      'model_invalid_reply',
      1,
    ],
  ])('says so when it %s', async (_what, answer, code, tries) => {
    const { error, runs } = await ask([answer])
    expect(error).toMatchObject({ code })
    expect(runs).toHaveLength(tries)
    expect(String(error)).not.toMatch(/neurons|No such model|oops|connection lost/)
  })

  it('is told when the caller gives up', async () => {
    const cancel = new AbortController()
    cancel.abort(new Error('enough'))
    const { error, runs } = await ask([() => streamed('x')], {}, { signal: cancel.signal })
    expect([error, runs]).toEqual([cancel.signal.reason, []])
    const later = await ask([() => streamed('x')])
    expect(later.runs[0]?.signal).toBeInstanceOf(AbortSignal)
  })
})

describe('Workers AI among the others', () => {
  const withAi = (
    config: Parameters<typeof createWorld>[1],
    replies = [() => streamed('by the binding')],
  ) => {
    const { ai, runs } = createFakeAi(replies)
    return { ...createWorld({}, { servers: [], ...config }, { ai }), runs }
  }

  it('is the default of a deployment that has no other model', async () => {
    const world = withAi({})
    expect(world.models.provider.select(undefined)).toMatchObject({ provider: 'workers-ai', model })
    expect(world.models.list()).toEqual([{ id: `workers-ai/${model}`, provider: 'workers-ai' }])
    expect((await runOn(world)).result.result).toBe('by the binding')
  })

  it.each([
    ['in development', { isDevelopment: true }, 'offline/offline'],
    ['beside a key', { openaiApiKey: 'sk-test' }, 'openai/gpt-4o-mini'],
    ['beside a base URL', { openaiBaseUrl: 'http://x/v1' }, 'openai/gpt-4o-mini'],
  ])('is not the default %s', (_what, config, expected) => {
    const { provider, model: name } = withAi(config).models.provider.select(undefined)
    expect(`${provider}/${name}`).toBe(expected)
  })

  it('is not there in development, which has no account: an agent that wants it runs on the default', () => {
    const { provider } = withAi({ isDevelopment: true }).models
    expect(provider.select(`workers-ai/${model}`)).toMatchObject({
      provider: 'offline',
      substituted: true,
    })
  })

  it('does not stand in for a default that was set and is not served', () => {
    expect(() =>
      withAi({ defaultModel: 'openai/gpt-4.1' }).models.provider.select(undefined),
    ).toThrow(expect.objectContaining({ code: 'model_not_configured' }))
    expect(withAi({ defaultModel: 'openai/gpt-4.1' }).models.list()).toEqual([
      { id: `workers-ai/${model}`, provider: 'workers-ai' },
    ])
  })

  it('is named by its prefix, with any model', async () => {
    const world = withAi({ openaiApiKey: 'sk-test' })
    await runOn(world, { model: 'workers-ai/@cf/openai/gpt-oss-120b' })
    expect(world.runs[0]?.model).toBe('@cf/openai/gpt-oss-120b')
  })

  it('takes over from a server that fails', async () => {
    const { ai } = createFakeAi([() => streamed('by the binding')])
    const world = createWorld(
      { first: [{ status: 503 }] },
      { defaultModel: `first/a, workers-ai/${model}` },
      { ai },
    )
    expect((await runOn(world)).result.result).toBe('by the binding')
  })
})
