import { describe, expect, it } from 'vitest'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { createEventDecoder } from '../../../src/platform/models/openai/request-once.ts'
import { ask, chunk, done, ended, event, resets, text, whole } from './replies.ts'

const json = 'application/json'
const between = (said: string, last = ended) => text('one ') + said + text('two') + last

describe('A10: keep-alive events of a stream made the whole answer unreadable', () => {
  it.each([
    ['empty data', 'data:\n\n'],
    ['empty data behind a blank', 'data: \n\n'],
    ['a named ping', 'event: ping\ndata: 2026-11-28 01:00:00\n\n'],
    ['a ping of Anthropic', 'event: ping\ndata: {"type": "ping"}\n\n'],
    ['a comment', ': OPENROUTER PROCESSING\n\n'],
    ['a comment behind data', 'data: : OPENROUTER PROCESSING\n\n'],
    ['a comment behind data without a blank', 'data::keep-alive\n\n'],
    ['a word', 'data: ping\n\n'],
    ['another word', 'data: keep-alive\n\n'],
    ['a heartbeat', 'event: heartbeat\ndata: ♥\n\n'],
    ['a name and no data', 'event: keepalive\n\n'],
    ['an id and a time to wait', 'id: 7\nretry: 3000\n\n'],
    ['null', 'data: null\n\n'],
    ['a number', 'data: 1732755600\n\n'],
    ['a truth', 'data: true\n\n'],
    ['a word in quotes', 'data: "ping"\n\n'],
    ['an object that says that it waits', 'data: {"message":"queued","status":"queued"}\n\n'],
    ['an empty object', 'data: {}\n\n'],
    ['no choices', event({ choices: [] })],
    ['choices of null', event({ choices: null })],
    ['an empty delta', event({ choices: [{ index: 0, delta: {} }] })],
    ['a delta of null', event({ choices: [{ index: 0, delta: null }] })],
    ['an error of null', event({ error: null, choices: [] })],
    ['empty lines', '\n\n\n'],
    ['an event of another kind', 'event: usage\ndata: {"cost": 1}\n\n'],
  ])('%s', async (_what, said) => {
    const { reply, seen, error } = await ask({ body: between(said) })
    expect([reply?.text, seen], error?.detail).toEqual(['one two', 'one two'])
  })

  it('very many of them are no large event', async () => {
    const { reply } = await ask({
      body: [text('one'), ...Array<string>(40).fill(`: ${'x'.repeat(60_000)}\n\ndata:\n\n`), ended],
    })
    expect(reply?.text).toBe('one')
  })

  it.each([
    ['[DONE] and a blank', 'data: [DONE] \n\n'],
    ['[DONE] without a blank', 'data:[DONE]\n\n'],
    ['[done]', 'data: [done]\n\n'],
    ['another word', 'data: end\n\n'],
    ['a line that is broken JSON', 'data: {"usage": {\n\n'],
    ['a line that is no event', 'bye\n\n'],
    ['nothing', ''],
    ['a reset', resets],
    ['a name', 'event: done\ndata: \n\n'],
  ] as const)('after the finish reason: %s', async (_what, last) => {
    const { reply, error } = await ask({ body: [text('one two'), chunk({}, 'stop'), last] })
    expect(reply?.text, error?.detail).toBe('one two')
  })

  it.each([
    ['broken JSON', 'data: {"choices": [{"delta": {"content": "lost\n\n'],
    ['words of a name that is none of ours', 'data: nonsense\n\n'],
    ['broken JSON under another name', 'event: piece\ndata: {"choices": [{"delta": \n\n'],
    ['broken JSON under the name of a ping', 'event: ping\ndata: {"choices": [{"delta": \n\n'],
    ['a text in quotes', 'data: "text"\n\n'],
  ])('but %s in the middle may have been a part of it', async (_what, said) => {
    const { error } = await ask({ body: between(said) })
    expect(error).toMatchObject({ code: 'model_invalid_reply' })
  })
})

it('A23: an event with a status of a failure and a message is one', async () => {
  const { error } = await ask({ body: between('data: {"status":500,"message":"x"}\n\n') })
  expect(error).toMatchObject({ code: 'model_unavailable' })
})

describe('A10: however the lines of a stream are written', () => {
  const body = between(': x\n\n')
  it.each([
    ['CRLF', body.replaceAll('\n', '\r\n')],
    ['CR', body.replaceAll('\n', '\r')],
    ['a byte order mark', `\ufeff${body}`],
    ['no blank behind data:', body.replaceAll('data: ', 'data:')],
    ['data of several lines', body.replaceAll('"choices"', '\ndata: "choices"')],
    ['blank lines in front', `\n \n${body}`],
    ['names', body.replaceAll('data: {', 'event: message\ndata: {')],
    ['fields that nobody knows', body.replaceAll('data: {', 'x-trace: 1\ndata: {')],
  ])('%s, in one piece and byte by byte', async (_what, said) => {
    for (const pieces of [[said], said.split('')])
      expect((await ask({ body: pieces })).reply?.text).toBe('one two')
  })
})

describe('A10: an error in a stream has its text', () => {
  it.each<[string, string, string, string]>([
    [
      'a whole error',
      event({ error: { message: 'oops', code: 429 } }),
      'model_rate_limited',
      'oops',
    ],
    ['a text', event({ error: 'oops' }), 'model_unavailable', 'oops'],
    [
      'without data: in front (OpenRouter)',
      '{"error":{"message":"oops","code":502}}\n\n',
      'model_unavailable',
      'oops',
    ],
    [
      'on several lines without data:',
      '{\n  "error": {\n    "message": "oops",\n    "code": 401\n  }\n}\n\n',
      'model_auth',
      'oops',
    ],
    [
      'vLLM',
      event({ object: 'error', message: 'oops', type: 'BadRequestError', code: 400 }),
      'model_refused_request',
      'oops',
    ],
    [
      'Anthropic',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"oops"}}\n\n',
      'model_unavailable',
      'oops',
    ],
    ['words', 'event: error\ndata: oops, the upstream died\n\n', 'model_unavailable', 'oops'],
    [
      'a word for the status',
      event({ error: { type: 'rate_limit_error', message: 'oops' } }),
      'model_rate_limited',
      'oops',
    ],
    [
      'Google',
      event([{ error: { code: 503, message: 'oops', status: 'UNAVAILABLE' } }]),
      'model_unavailable',
      'oops',
    ],
    [
      'within a choice (OpenRouter)',
      event({
        choices: [{ delta: {}, finish_reason: 'error', error: { code: 502, message: 'oops' } }],
      }),
      'model_unavailable',
      'oops',
    ],
    ['FastAPI', event({ detail: 'oops' }), 'model_unavailable', 'oops'],
    [
      'MiniMax',
      event({ choices: null, base_resp: { status_code: 1004, status_msg: 'oops' } }),
      'model_unavailable',
      'oops',
    ],
    [
      'a number as a text',
      event({ error: { code: '401', message: 'oops' } }),
      'model_auth',
      'oops',
    ],
  ])('%s', async (_what, said, code, words) => {
    const { error, reply, seen } = await ask({ body: text('half ') + said + ended })
    expect(reply).toBeUndefined()
    expect(seen).toBe('half ')
    expect(error).toMatchObject({ code })
    expect(error?.detail).toContain(words)
    expect(error?.message).not.toContain(words)
  })

  it('a refusal of a field in the middle of an answer is not asked again', async () => {
    const said = { error: { code: 400, message: 'Unsupported parameter: max_tokens' } }
    const { bodies, error } = await ask({ body: text('half') + event(said) })
    expect([bodies.length, error?.code]).toEqual([1, 'model_refused_request'])
  })
})

describe('a server that answers in the other way than it was asked', () => {
  it.each([json, 'text/event-stream', 'application/json; charset=utf-8', 'text/plain', null])(
    'JSON to a stream, called %s',
    async (type) => {
      const { reply, seen, error } = await ask({
        body: ['\n  ', whole({ content: 'all ' + 'well' })],
        type,
      })
      expect([reply?.text, seen], error?.detail).toEqual(['all well', 'all well'])
    },
  )

  it.each(['text/event-stream', json, null])('a stream to no stream, called %s', async (type) => {
    const said = { body: text('all ') + text('well') + ended, type }
    const { reply, seen, error } = await ask(said, { call: { isUnwatched: true } })
    expect([reply?.text, seen], error?.detail).toEqual(['all well', ''])
  })

  it('a list of pieces, and a piece a line', async () => {
    const pieces = [
      { choices: [{ delta: { content: 'all ' } }] },
      { choices: [{ delta: { content: 'well' }, finish_reason: 'stop' }] },
    ]
    const lines = pieces.map((piece) => JSON.stringify(piece)).join('\n')
    for (const body of [JSON.stringify(pieces), lines])
      expect((await ask({ body, type: json })).reply?.text).toBe('all well')
  })

  it('half of it is none, and nothing of it was seen', async () => {
    const body = whole({ content: 'The answer is 4' }).slice(0, -20)
    for (const said of [[body], [body, resets]]) {
      const { error, seen } = await ask({ body: said, type: json })
      expect(error?.code).toMatch(/model_(?:invalid_reply|network)/)
      expect(seen).toBe('')
    }
    const streamed = { body: [text('The answer is'), resets] }
    const { error } = await ask(streamed, { call: { isUnwatched: true } })
    expect(error?.code).toBe('model_network')
  })

  it('a stream that broke off is asked for again if it is not watched', async () => {
    const answers = [{ body: [text('half'), resets] }, { body: text('all well') + ended }]
    const { reply, bodies } = await ask(answers, { call: { isUnwatched: true } })
    expect([reply?.text, bodies.length]).toEqual(['all well', 2])
  })

  it('an error in JSON is one', async () => {
    const body = JSON.stringify({ error: { message: 'oops', code: 401 } })
    expect((await ask({ body, type: json })).error).toMatchObject({ code: 'model_auth' })
  })

  it.each([
    ['words', 'upstream connect error', 'text/plain'],
    ['another protocol', JSON.stringify({ candidates: [] }), json],
  ])('%s are no reply, and an operator reads them', async (_what, body, type) => {
    const { error } = await ask({ body, type })
    expect(error).toMatchObject({ code: 'model_invalid_reply' })
    expect(error?.detail).toContain(body.slice(0, 20))
  })
})

describe('a count that was lost', () => {
  const counted = { prompt_tokens: 100, completion_tokens: 10 }
  const tokensOf = async (more: object, choice: object = {}) => {
    const last = event({ choices: [{ delta: {}, finish_reason: 'stop', ...choice }], ...more })
    const { reply } = await ask({ body: text('a') + last + done })
    const { inputTokens, outputTokens, estimated } = reply!.usage
    return estimated ? 'estimated' : [inputTokens, outputTokens]
  }

  it.each<[string, object, object]>([
    ['at the end', { usage: counted }, {}],
    ['in the choice (Moonshot)', {}, { usage: counted }],
    ['under x_groq (Groq)', { x_groq: { id: 'x', usage: counted } }, {}],
    ['by other names', { usage: { input_tokens: 100, output_tokens: 10 } }, {}],
    ['as a sum', { usage: { prompt_tokens: 100, total_tokens: 110 } }, {}],
    [
      'with thoughts beside the output (xAI)',
      { usage: { ...counted, completion_tokens: 2, total_tokens: 110 } },
      {},
    ],
  ])('%s', async (_what, more, choice) => {
    expect(await tokensOf(more, choice)).toEqual([100, 10])
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['a text', { prompt_tokens: '100', completion_tokens: '10' }],
    ['a fraction', { prompt_tokens: 100.5, completion_tokens: 10 }],
    ['negative', { prompt_tokens: -1, completion_tokens: 10 }],
    ['a list', [100, 10]],
    ['half', { completion_tokens: 10 }],
  ])('and what is no count is an estimate: %s', async (_what, usage) => {
    expect(await tokensOf({ usage })).toBe('estimated')
  })
})

describe('A7: a stream cannot keep us busy', () => {
  const utf8 = new TextEncoder()
  const msFor = (piece: string, count: number) => {
    const decoder = createEventDecoder()
    const bytes = utf8.encode(piece.repeat(count))
    const begunAt = cpuMs()
    for (let at = 0; at < bytes.length; at += 65_536) decoder.push(bytes.subarray(at, at + 65_536))
    return cpuMs() - begunAt
  }

  it.each([
    '\n',
    '\r',
    'data:\n',
    'data: x\n',
    ':\n',
    '{\n',
    '}\n',
    ',"b":{}\n',
    'event: x\n',
    'x',
    '\r\n',
    '\n\r',
  ])('with runs of %j: ten times as much takes at most fifteen times as long', (piece) => {
    // Ten small ones take about as long as a large one: what else the machine does slows both down alike.
    const small = () => msFor(piece, 20_000 / piece.length)
    small()
    const ratio = () => {
      const ten = Array.from({ length: 10 }, small).reduce((sum, ms) => sum + ms)
      return msFor(piece, 200_000 / piece.length) / Math.max(5, ten / 10)
    }
    let least = ratio()
    for (let tries = 1; least >= 15 && tries < 8; tries += 1) least = Math.min(least, ratio())
    expect(least).toBeLessThan(15)
  })
})
