import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelReply, ModelRequest } from '#contracts/model.ts'
import { startModelServer, type ModelServer, type Reply } from '../../fakes/model-server.mjs'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import {
  createOpenAiProvider,
  type OpenAiProviderOptions,
} from '../../../src/platform/models/openai-provider.ts'
import { givenPrices } from '../../../src/platform/models/prices.ts'
import { callOptions } from './call-options.ts'
import { sendOver } from '../../fakes/outbound.ts'

const prices = { 'gpt-test': { inputUsdPerMillion: 1, outputUsdPerMillion: 2.5 } }
let server: ModelServer
let waits: number[]

beforeEach(async () => {
  server = await startModelServer()
  waits = []
})
afterEach(() => server.close())

/** Real time for limits; waits between tries are noted and skipped. */
async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const isBetweenTries = [500, 1_000, 3_000, 20_000].includes(ms)
  if (isBetweenTries) waits.push(ms)
  await wait(isBetweenTries ? 0 : ms, undefined, signal ? { signal } : {}).catch(() => {})
}

const provider = (options: Partial<OpenAiProviderOptions> = {}) =>
  createOpenAiProvider({
    apiKey: 'sk-secret-123',
    baseUrl: server.url,
    send: sendOver(fetch, { sleep }),
    sleep,
    tokens: createTokenEstimator(),
    priceOf: givenPrices(prices, 'test'),
    ...options,
  })

const hello: Message = { role: 'user', text: 'Hello', taint: ['user'] }
const ask = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt-test',
  messages: [hello],
  tools: [],
  parameters: {},
  ...more,
})

interface Outcome {
  readonly reply?: ModelReply
  readonly error?: unknown
  readonly deltas: readonly string[]
  readonly sent: number
}

async function call(
  script: readonly Reply[],
  request = ask(),
  options: Partial<OpenAiProviderOptions> = {},
  signal = new AbortController().signal,
): Promise<Outcome> {
  server.script(script)
  const deltas: string[] = []
  let sent = 0
  const calling = provider(options).generate(
    request,
    callOptions({ signal, onDelta: (text) => deltas.push(text), onSent: () => (sent += 1) }),
  )
  const settled = await calling.then(
    (reply) => ({ reply }),
    (error: unknown) => ({ error }),
  )
  return { ...settled, deltas, sent }
}

const failure = ({ error }: Outcome): IsolaError => {
  expect(error).toBeInstanceOf(IsolaError)
  return error as IsolaError
}

describe('a request to an OpenAI-compatible server', () => {
  it('N7: carries what its caller says, asked for anew with each try', async () => {
    server.script([{ status: 500 }, { text: 'Hi' }])
    let tries = 0
    const headers = () => ({ traceparent: `try-${(tries += 1)}`, tracestate: 'vendor=a' })
    await provider().generate(ask(), callOptions({ headers }))
    expect(server.requests.map((request) => request.headers['traceparent'])).toEqual([
      'try-1',
      'try-2',
    ])
    expect(server.requests[1]?.headers['tracestate']).toBe('vendor=a')
  })

  it('T5: gives a server an address to fetch only if it is public, and says so of one that was kept', async () => {
    const url = 'http://10.0.0.1/admin'
    const messages: readonly Message[] = [{ ...hello, images: [{ url }] }]
    for (const isPublic of [false, true])
      await call([{ text: 'ok' }], ask({ messages }), { isPublic })
    const [closed, open] = server.requests.map(({ body }) => body.messages[0]?.content?.[1])
    expect(closed).toEqual({ type: 'text', text: `[An image that was not fetched: ${url}]` })
    expect(open).toEqual({ type: 'image_url', image_url: { url } })
  })

  it('carries messages, images, tool calls and results, tools, parameters and the schema asked for', async () => {
    const messages: readonly Message[] = [
      { role: 'system', text: 'Be brief.' },
      {
        role: 'user',
        text: 'Look',
        images: [{ url: 'data:image/png;base64,AA==' }],
        taint: ['user'],
      },
      {
        role: 'assistant',
        text: '',
        toolCalls: [
          { id: 'c1', name: 'kv__get', input: { key: 'a' } },
          { id: 'c2', name: 'kv__get', input: { '': '{bad' } },
        ],
        taint: ['model'],
      },
      {
        role: 'tool',
        callId: 'c1',
        name: 'kv__get',
        output: { found: true },
        isError: false,
        taint: ['tool:kv__get'],
      },
      {
        role: 'tool',
        callId: 'c2',
        name: 'kv__get',
        output: 'plain',
        isError: true,
        taint: ['tool:kv__get'],
      },
    ]
    const inputSchema = { type: 'object', properties: { key: { type: 'string' } } }
    await call(
      [{ text: 'ok' }],
      ask({
        messages,
        tools: [{ name: 'kv__get', description: 'Read.', inputSchema }],
        parameters: { temperature: 0, topP: 0.5, seed: 7, stop: ['END'], maxOutputTokens: 99 },
        outputSchema: inputSchema,
      }),
    )
    expect(server.requests[0]?.headers.authorization).toBe('Bearer sk-secret-123')
    expect(server.requests[0]?.body).toEqual({
      model: 'gpt-test',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'kv__get', arguments: '{"key":"a"}' } },
            { id: 'c2', type: 'function', function: { name: 'kv__get', arguments: '{"":"{bad"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: '{"found":true}' },
        { role: 'tool', tool_call_id: 'c2', content: 'plain' },
      ],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 99,
      temperature: 0,
      top_p: 0.5,
      seed: 7,
      stop: ['END'],
      tools: [
        {
          type: 'function',
          function: { name: 'kv__get', description: 'Read.', parameters: inputSchema },
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'output', schema: inputSchema },
      },
    })
  })

  it.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [{ tool: 'kv__get' }, { type: 'function', function: { name: 'kv__get' } }],
  ] as const)('carries the tool choice %j where there are tools', async (toolChoice, expected) => {
    const tools = [{ name: 'kv__get', description: 'Read.', inputSchema: {} }]
    await call([{ text: 'ok' }], ask({ tools, parameters: { toolChoice } }))
    expect(server.requests[0]?.body).toMatchObject({ tool_choice: expected })
    await call([{ text: 'ok' }], ask({ parameters: { toolChoice } }))
    expect(server.requests[1]?.body).not.toHaveProperty('tool_choice')
  })

  it("carries the format a client asked for, and the agent's own schema before it", async () => {
    const schema = { type: 'object' }
    const ours = { type: 'object', title: 'ours' }
    const formats = [
      { type: 'json_object' },
      { type: 'json_schema', name: 'answer', schema, strict: true },
    ] as const
    for (const responseFormat of formats)
      await call([{ text: '{}' }], ask({ parameters: { responseFormat } }))
    await call(
      [{ text: '{}' }],
      ask({ parameters: { responseFormat: formats[1] }, outputSchema: ours }),
    )
    const asked = server.requests.map(
      ({ body }) => (body as Record<string, unknown>).response_format,
    )
    expect(asked).toEqual([
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
      { type: 'json_schema', json_schema: { name: 'output', schema: ours } },
    ])
  })

  it('always caps the output, and OpenAI itself under the name its reasoning models take', async () => {
    await call([{ text: 'ok' }])
    expect(server.requests[0]?.body).toMatchObject({ max_tokens: 4_096 })
    const bodies: unknown[] = []
    const capture = sendOver(async (_url, init) => {
      bodies.push(JSON.parse(String(init.body)))
      return new Response('{}', { status: 400 })
    })
    await call([], ask(), { send: capture, baseUrl: undefined })
    expect(bodies[0]).toMatchObject({ max_completion_tokens: 4_096 })
    expect(bodies[0]).not.toHaveProperty('max_tokens')
  })

  it('sends no Authorization header without a key', async () => {
    await call([{ text: 'ok' }], ask(), { apiKey: undefined })
    expect(server.requests[0]?.headers.authorization).toBeUndefined()
  })

  it('says of every try that it is sent once the fetch was called, and when a reply begins', async () => {
    const order: string[] = []
    server.script([{ status: 500 }, { text: 'ok' }])
    const noting = sendOver((...given) => {
      order.push('fetch')
      return fetch(...given)
    })
    await provider({ send: noting }).generate(
      ask(),
      callOptions({
        onSent: () => order.push('sent'),
        onBegun: () => order.push('begun'),
        mayRetry: () => order.push('asked') > 0,
      }),
    )
    expect(order).toEqual(['fetch', 'sent', 'asked', 'fetch', 'sent', 'begun'])
  })
})

describe('a reply', () => {
  it('arrives as deltas and as a whole, with exact usage and cost', async () => {
    const { reply, deltas, sent } = await call([
      { text: 'Good morning to you', usage: { prompt_tokens: 11, completion_tokens: 7 } },
    ])
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('')).toBe('Good morning to you')
    expect(sent).toBe(1)
    expect(reply).toEqual({
      text: 'Good morning to you',
      toolCalls: [],
      finishReason: 'stop',
      usage: {
        inputTokens: 11,
        outputTokens: 7,
        costNanoUsd: 11 * 1_000 + 7 * 2_500,
        priced: true,
        estimated: false,
      },
      provider: 'openai',
      model: 'gpt-test',
    })
  })

  it('estimates usage that the server did not send', async () => {
    const { reply } = await call([{ text: 'Good morning', omitUsage: true }])
    expect(reply?.usage).toMatchObject({ estimated: true, priced: true })
    expect(reply?.usage.inputTokens).toBeGreaterThan(0)
    expect(reply?.usage.outputTokens).toBeGreaterThan(0)
  })

  it('says when the price of a model is not known', async () => {
    const { reply } = await call([{ text: 'ok' }], ask({ model: 'llama3' }))
    expect(reply?.usage).toMatchObject({ costNanoUsd: 0, priced: false })
  })

  it('holds parallel tool calls; arguments that are no object are kept raw', async () => {
    const { reply, deltas } = await call([
      {
        toolCalls: [
          { id: 'a', name: 'kv__get', arguments: { key: 'x' } },
          { id: 'b', name: 'kv__get', arguments: '{"key": ' },
          { id: 'c', name: 'kv__list', arguments: '' },
          { id: 'd', name: 'kv__list', arguments: '[1]' },
        ],
      },
    ])
    expect(reply?.toolCalls).toEqual([
      { id: 'a', name: 'kv__get', input: { key: 'x' } },
      { id: 'b', name: 'kv__get', input: { '': '{"key": ' } },
      { id: 'c', name: 'kv__list', input: {} },
      { id: 'd', name: 'kv__list', input: { '': '[1]' } },
    ])
    expect(reply?.finishReason).toBe('tool_calls')
    expect(deltas).toEqual([])
  })

  const events = (...chunks: readonly unknown[]): Reply => ({
    body: `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`,
  })
  const choice = (delta: unknown, reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: reason }],
  })

  it('gets ids for tool calls that have none, or the same one twice', async () => {
    const calls = [
      { index: 0, function: { name: 'a', arguments: '{}' } },
      { index: 1, id: 'x', function: { name: 'b', arguments: '{}' } },
      { index: 2, id: 'x', function: { name: 'c', arguments: '{}' } },
    ]
    const { reply } = await call([events(choice({ tool_calls: calls }, 'stop'))])
    expect(reply?.toolCalls.map(({ id, name }) => [id, name])).toEqual([
      ['call_1', 'a'],
      ['x', 'b'],
      ['call_3', 'c'],
    ])
    expect(reply?.finishReason).toBe('tool_calls')
  })

  it('keeps calls apart that a server numbers alike', async () => {
    const calls = [
      { index: 0, id: 'x', function: { name: 'a', arguments: '{"n":1}' } },
      { index: 0, id: 'y', function: { name: 'b', arguments: '{"n":2}' } },
    ]
    const { reply } = await call([events(choice({ tool_calls: calls }, 'tool_calls'))])
    expect(reply?.toolCalls).toEqual([
      { id: 'x', name: 'a', input: { n: 1 } },
      { id: 'y', name: 'b', input: { n: 2 } },
    ])
  })

  it('that was cut short by its length or by a filter says so', async () => {
    expect((await call([{ text: 'a', finishReason: 'length' }])).reply?.finishReason).toBe('length')
    expect((await call([{ text: 'a', finishReason: 'content_filter' }])).reply?.finishReason).toBe(
      'content_filter',
    )
  })

  it.each<[string, Reply]>([
    ['no JSON', { body: 'data: {broken\n\n' }],
    ['no stream', { body: { choices: [] }, headers: { 'content-type': 'application/json' } }],
    ['a web page', { body: '<html>hi</html>', headers: { 'content-type': 'text/html' } }],
    ['no choices', events({ id: 'x' }, { choices: [] }, null, 5)],
  ])('that is %s fails as model_invalid_reply', async (_name, reply) => {
    const outcome = await call([reply])
    expect(failure(outcome).code).toBe('model_invalid_reply')
    expect(server.requests).toHaveLength(1)
    expect(outcome.sent).toBe(1)
  })

  it('with a call that has no name asks for a tool that does not exist, so that the model is told', async () => {
    const nameless = { index: 0, id: 'x', function: { arguments: '{}' } }
    const { reply } = await call([events(choice({ tool_calls: [nameless] }, 'tool_calls'))])
    expect(reply?.toolCalls).toMatchObject([{ name: 'unnamed' }])
  })

  it('that ends without a finish reason fails as model_network', async () => {
    expect(failure(await call([events(choice({ content: 'half' }))])).code).toBe('model_network')
  })

  it('with an error inside the stream fails by the status in it', async () => {
    expect(
      failure(
        await call([
          events(choice({ content: 'a' }), { error: { message: 'slow down', code: 429 } }),
        ]),
      ).code,
    ).toBe('model_rate_limited')
    expect(
      failure(await call([events(choice({ content: 'a' }), { error: { message: 'oops' } })])).code,
    ).toBe('model_unavailable')
  })
})

describe('I30: a failure', () => {
  it.each([
    [401, 'model_auth'],
    [403, 'model_auth'],
    [400, 'model_refused_request'],
    [404, 'model_refused_request'],
    [422, 'model_refused_request'],
  ])('with status %i is %s and is not retried', async (status, code) => {
    const outcome = await call([
      { status, body: { error: { message: 'upstream words, key sk-secret-123' } } },
    ])
    const error = failure(outcome)
    expect(error.code).toBe(code)
    expect(error.message).not.toContain('upstream words')
    expect(error.detail).toContain('upstream words, key [key]')
    expect(server.requests).toHaveLength(1)
  })

  it.each([
    [
      'OpenAI',
      400,
      {
        code: 'context_length_exceeded',
        message: "This model's maximum context length is 128000 tokens.",
      },
    ],
    [
      'vLLM',
      400,
      {
        code: 400,
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000.",
      },
    ],
    [
      'llama.cpp',
      400,
      { code: 400, message: 'the request exceeds the available context size, try increasing it' },
    ],
    [
      'vLLM of a model with pictures',
      400,
      {
        message:
          'The decoder prompt (length 9362) is longer than the maximum model length of 9000. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      },
    ],
    ['llama.cpp while it answers', 500, { message: 'Context size has been exceeded.' }],
    ['Anthropic', 400, { message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
    [
      'Anthropic with the answer',
      400,
      { message: 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000' },
    ],
    [
      'xAI',
      400,
      {
        message:
          "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
      },
    ],
    [
      'text-generation-inference',
      422,
      {
        message:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000 `inputs` tokens and 100 `max_new_tokens`',
      },
    ],
    [
      'Gemini',
      400,
      {
        message:
          'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      },
    ],
    [
      'Mistral',
      400,
      {
        message:
          'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
      },
    ],
    ['a gateway', 413, { message: 'Please reduce the length of the messages.' }],
    ['a proxy', 413, { message: 'Request too large' }],
  ])(
    'that says the request is too long, as %s does, has its own code',
    async (_who, status, error) => {
      const outcome = await call([{ status, body: { error } }])
      expect(failure(outcome)).toMatchObject({ code: 'model_context_exceeded', transient: false })
      expect(failure(outcome).message).not.toContain(error.message)
      expect(server.requests).toHaveLength(1)
    },
  )

  it('that stands in a list, as Google writes it, is read like others', async () => {
    const message = 'The input token count (9) exceeds the maximum number of tokens allowed (8).'
    const outcome = await call([{ status: 400, body: [{ error: { code: 400, message } }] }])
    expect(failure(outcome)).toMatchObject({
      code: 'model_context_exceeded',
      detail: expect.stringContaining(message) as unknown,
    })
  })

  it('keeps at most 2,000 characters of what the service wrote', async () => {
    expect(
      failure(await call([{ status: 400, body: { error: { message: 'x'.repeat(9_000) } } }]))
        .detail,
    ).toHaveLength(2_000)
  })

  it('of the server is retried twice with growing waits', async () => {
    const { reply } = await call([{ status: 500 }, { status: 503 }, { text: 'ok' }])
    expect(reply?.text).toBe('ok')
    expect(waits).toEqual([500, 1_000])
    const error = failure(
      await call([{ status: 500 }, { status: 500 }, { status: 500 }, { text: 'never' }]),
    )
    expect(error).toMatchObject({ code: 'model_unavailable', transient: true })
    expect(server.requests).toHaveLength(6)
  })

  it('for too many requests waits as long as told, at most 20 seconds', async () => {
    expect(
      (await call([{ status: 429, headers: { 'retry-after': '3' } }, { text: 'ok' }])).reply?.text,
    ).toBe('ok')
    const error = failure(
      await call(
        Array.from({ length: 3 }, () => ({ status: 429, headers: { 'retry-after': '600' } })),
      ),
    )
    expect(error).toMatchObject({ code: 'model_rate_limited', retryAfterMs: 600_000 })
    expect(waits).toEqual([3_000, 20_000, 20_000])
  })

  it('for lack of credit is not retried', async () => {
    const before = server.requests.length
    await call([
      { status: 429, body: { error: { message: 'no credit', code: 'insufficient_quota' } } },
    ])
    expect(server.requests.length - before).toBe(1)
  })

  it('of the network before the reply is retried, within the reply it is not', async () => {
    expect((await call([{ cut: 0 }, { text: 'ok' }])).reply?.text).toBe('ok')
    const before = server.requests.length
    const outcome = await call([
      { text: 'a long text that is cut in the middle', cut: 3 },
      { text: 'never' },
    ])
    expect(failure(outcome).code).toBe('model_network')
    expect(outcome.deltas.length).toBeGreaterThan(0)
    expect(server.requests.length - before).toBe(1)
  })

  it('of a server that is not there is model_network', async () => {
    const outcome = await call([], ask(), { baseUrl: 'http://127.0.0.1:9/v1' })
    expect(failure(outcome)).toMatchObject({ code: 'model_network', transient: true })
    expect(outcome.sent).toBe(3)
  })

  it('to go on after the first chunks ends as model_timeout', async () => {
    const outcome = await call([{ text: 'begins', stall: true }], ask(), { idleMs: 200 })
    expect(failure(outcome).code).toBe('model_timeout')
    expect(outcome.deltas.join('')).toBe('begins')
  })

  it('to finish in time ends as model_timeout, also while chunks arrive', async () => {
    const slow: Reply = { text: 'x'.repeat(100), chunkSize: 1, chunkDelayMs: 20 }
    expect(failure(await call([slow], ask({ parameters: { timeoutMs: 300 } }))).code).toBe(
      'model_timeout',
    )
    expect(
      failure(
        await call([{ text: 'late', delayMs: 3_000 }], ask({ parameters: { timeoutMs: 300 } })),
      ).code,
    ).toBe('model_timeout')
  })

  it("because the caller stopped throws the caller's own reason", async () => {
    const stop = new AbortController()
    const calling = call([{ text: 'begins', stall: true }], ask(), {}, stop.signal)
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    stop.abort(new Error('cancelled by the user'))
    const outcome = await calling
    expect(outcome.error).toBe(stop.signal.reason)
    const early = await call(
      [{ text: 'never' }],
      ask(),
      {},
      AbortSignal.abort(new Error('at once')),
    )
    expect(early.error).toMatchObject({ message: 'at once' })
    expect(early.sent).toBe(0)
    expect(server.requests).toHaveLength(1)
  })
})

it('reserves 1.25 times the estimated input and the whole output cap, with their cost', () => {
  const tokens = createTokenEstimator()
  const input = Math.ceil(tokens.ofRequest(ask()) * 1.25)
  expect(provider().estimate(ask())).toEqual({
    tokens: input + 4_096,
    costNanoUsd: input * 1_000 + 4_096 * 2_500,
  })
})
