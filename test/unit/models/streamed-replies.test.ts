import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions, ModelReply } from '#contracts/model.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { createOpenAiProvider } from '../../../src/platform/models/openai-provider.ts'
import { startModelServer, type ModelServer, type Reply } from '../../fakes/model-server.mjs'
import { callOptions } from './call-options.ts'
import { sendOver } from '../../fakes/outbound.ts'

// Faults of a stream on a real connection; what the kernel makes of each is in test/faults/upstream-faults.test.ts.

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

/** Waits between tries pass at once, limits are real. */
const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  wait(ms === 500 || ms === 1_000 ? 0 : ms, undefined, signal && { signal }).catch(() => {})

const providerAt = (baseUrl: string) =>
  createOpenAiProvider({
    apiKey: 'sk-test',
    baseUrl,
    send: sendOver(fetch, { sleep }),
    sleep,
    tokens: createTokenEstimator(),
    priceOf: () => undefined,
  })

interface Outcome {
  readonly reply?: ModelReply
  readonly error?: IsolaError
  readonly seen: string
}

async function ask(
  script: readonly Reply[],
  call: Partial<ModelCallOptions> = {},
  baseUrl = server.url,
): Promise<Outcome> {
  server.script(script)
  let seen = ''
  const options = callOptions({ onDelta: (text) => (seen += text), ...call })
  const request = { model: 'm', messages: [], tools: [], parameters: {} } as const
  const asked = { ...request, messages: [{ role: 'user', text: 'Hi', taint: [] }] } as const
  return providerAt(baseUrl)
    .generate(asked, options)
    .then(
      (reply) => ({ reply, seen }),
      (error: IsolaError) => ({ error, seen }),
    )
}

const event = (body: unknown): string => `data: ${JSON.stringify(body)}\n\n`
const chunk = (delta: object, reason: string | null = null): string =>
  event({ model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })
const text = (content: string): string => chunk({ content })
const ended = `${chunk({}, 'stop')}data: [DONE]\n\n`
const whole = text('all ') + text('well €😀') + ended

describe('a streamed reply is read', () => {
  it.each<[string, string, number?]>([
    ['with CRLF', whole.replaceAll('\n', '\r\n')],
    ['with CR', whole.replaceAll('\n', '\r')],
    ['after a byte order mark', `\ufeff${whole}`],
    ['with comments', whole.replaceAll('data:', ': alive\ndata:')],
    ['with events that carry nothing', `event: ping\n\n${whole.replaceAll('\n\n', '\n\n: x\n\n')}`],
    ['with data of several lines', whole.replaceAll('"choices"', '\ndata: "choices"')],
    ['with ids and times to wait', `retry: 10\nid: 1\n${whole}`],
    ['without a space before the data', whole.replaceAll('data: ', 'data:')],
    ['byte by byte', whole, 1],
    ['byte by byte, with CRLF', whole.replaceAll('\n', '\r\n'), 1],
    ['without its last empty line', whole.slice(0, -2)],
    ['without [DONE]', text('all well €😀') + chunk({}, 'stop')],
    ['without [DONE] and the last empty line', text('all well €😀') + chunk({}, 'stop').trimEnd()],
    ['and nothing behind [DONE]', whole + text(' NOT')],
  ])('%s', async (_name, body, chunkSize) => {
    const { reply, seen } = await ask([{ body, ...(chunkSize && { chunkSize }) }])
    expect(reply).toMatchObject({ text: 'all well €😀', finishReason: 'stop' })
    expect(seen).toBe('all well €😀')
    expect(server.requests).toHaveLength(1)
  })
})

describe('a streamed reply fails', () => {
  it.each<[string, Reply, string, string]>([
    [
      'model_network when the connection breaks between two events',
      { body: text('half') + text('more') + ended, chunkSize: text('half').length, cut: 1 },
      'model_network',
      'half',
    ],
    [
      'model_network when the connection breaks within an event',
      { body: text('half') + text('more') + ended, chunkSize: text('half').length + 20, cut: 1 },
      'model_network',
      'half',
    ],
    [
      'model_network when the stream ends within an event',
      { body: text('half') + text('more').slice(0, 30) },
      'model_network',
      'half',
    ],
    [
      'model_network when the stream ends within a character',
      { body: Buffer.from(text('half') + text('€')).subarray(0, -40) },
      'model_network',
      'half',
    ],
    [
      'by the status of an error among its events',
      { body: text('half') + event({ error: { code: 429, message: 'slow down' } }) + ended },
      'model_rate_limited',
      'half',
    ],
    [
      'by an error event without a status',
      { body: `${text('half')}event: error\ndata: {"message":"oops"}\n\n` },
      'model_unavailable',
      'half',
    ],
    [
      'model_invalid_reply by an event that is not JSON',
      { body: `${text('half')}data: {oops}\n\n${ended}` },
      'model_invalid_reply',
      'half',
    ],
  ])('as %s', async (_name, reply, code, seen) => {
    expect(await ask([reply])).toMatchObject({ error: { code }, seen })
    expect(server.requests).toHaveLength(1)
  })

  it('in what was said after its finish reason only without a loss', async () => {
    const body = text('all well') + chunk({}, 'stop') + event({ choices: [], usage: null })
    const { reply } = await ask([{ body: body.slice(0, -10) }])
    expect(reply).toMatchObject({ text: 'all well', finishReason: 'stop' })
  })

  it('at once when its caller stops, who is gone for the server too', async () => {
    const stop = new AbortController()
    const onDelta = () => stop.abort(new Error('enough'))
    const stalls = { body: text('half'), stall: true }
    const { error } = await ask([stalls], { signal: stop.signal, onDelta })
    expect(error).toBe(stop.signal.reason)
    await vi.waitFor(() => expect(server.requests[0]?.aborted).toBe(true))
  })
})

describe('a streamed reply that said it is over', () => {
  type GoOn = (controller: ReadableStreamDefaultController) => void
  const ends: GoOn = (controller) => controller.close()

  /** One call whose stream goes on like this behind [DONE]; says what became of the stream. */
  async function becomes(goOn: GoOn) {
    const became = Promise.withResolvers<'read to its end' | 'let go'>()
    let pieces = 0
    const body = new ReadableStream(
      {
        pull(controller) {
          pieces += 1
          if (pieces === 1) return controller.enqueue(Buffer.from(whole))
          goOn(controller)
          if (goOn === ends) became.resolve('read to its end')
        },
        cancel: () => became.resolve('let go'),
      },
      { highWaterMark: 0 },
    )
    const headers = { 'content-type': 'text/event-stream' }
    const provider = createOpenAiProvider({
      send: sendOver(async () => new Response(body, { headers })),
      sleep: (ms, signal) => sleep(ms === 250 ? 1 : ms, signal),
      tokens: createTokenEstimator(),
      priceOf: () => undefined,
    })
    const request = { model: 'm', messages: [], tools: [], parameters: {} }
    expect(await provider.generate(request, callOptions())).toMatchObject({ text: 'all well €😀' })
    return became.promise
  }

  it('is read to its end, so that its connection serves another request', async () => {
    expect(await becomes(ends)).toBe('read to its end')
  })

  it.each<[string, GoOn]>([
    ['does not end', () => {}],
    ['goes on', (controller) => controller.enqueue(Buffer.from(whole))],
  ])('and %s is let go', async (_name, goOn) => {
    expect(await becomes(goOn)).toBe('let go')
  })
})

describe('a reply in one piece', () => {
  const body = { choices: [{ index: 0, message: { content: 'all' }, finish_reason: 'stop' }] }
  const isUnwatched = true

  it('is read with and without its length, and compressed', async () => {
    const packed = gzipSync(JSON.stringify(body))
    const gzip = { 'content-encoding': 'gzip', 'content-length': String(packed.length) }
    for (const reply of [{ text: 'all' }, { body }, { body: packed, headers: gzip }])
      expect(await ask([reply], { isUnwatched })).toMatchObject({ reply: { text: 'all' } })
    expect(server.requests[0]?.body).toMatchObject({ stream: false })
    expect(server.requests[0]?.body).not.toHaveProperty('stream_options')
  })

  it('A7: of a length that unpacks to more than 8 MiB is not kept', async () => {
    const packed = gzipSync(' '.repeat(9 * 1024 * 1024) + JSON.stringify(body))
    const headers = { 'content-encoding': 'gzip', 'content-length': String(packed.length) }
    const { error } = await ask([{ body: packed, headers }], { isUnwatched })
    expect(error).toMatchObject({ code: 'model_invalid_reply' })
    expect(error?.message).toContain('8 MiB at once')
  })

  it('that breaks off is asked for again, as nothing of it was seen', async () => {
    const { reply } = await ask([{ text: 'all', cut: 1 }, { text: 'all' }], { isUnwatched })
    expect(reply?.text).toBe('all')
    expect(server.requests).toHaveLength(2)
  })
})

describe('the address of a server', () => {
  it.each([
    ['as it is', ''],
    ['with a slash at its end', '/'],
  ])('is taken %s', async (_name, end) => {
    expect(await ask([{ text: 'ok' }], {}, server.url + end)).toHaveProperty('reply.text', 'ok')
  })

  it('keeps what it asks for behind the path', async () => {
    const urls: string[] = []
    const noting = sendOver(async (url) => {
      urls.push(url)
      return new Response('{}', { status: 400 })
    })
    const provider = createOpenAiProvider({
      baseUrl: 'http://model.test/v1/?api-version=1',
      send: noting,
      sleep,
      tokens: createTokenEstimator(),
      priceOf: () => undefined,
    })
    const request = { model: 'm', messages: [], tools: [], parameters: {} }
    await provider.generate(request, callOptions()).catch(() => {})
    expect(urls).toEqual(['http://model.test/v1/chat/completions?api-version=1'])
  })

  it('is asked with these headers, and no others of ours', async () => {
    await ask([{ text: 'ok' }], { headers: () => ({ traceparent: '00-a-b-01' }) })
    expect(server.requests[0]?.headers).toMatchObject({
      accept: 'application/json',
      authorization: 'Bearer sk-test',
      'content-type': 'application/json',
      traceparent: '00-a-b-01',
      'user-agent': 'isola',
    })
  })
})
