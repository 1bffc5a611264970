import { describe, expect, it } from 'vitest'
import type { StreamItem } from '../../../src/contracts/event.ts'
import {
  createFakeApp,
  delta,
  finished,
  linesOf,
  resultOf,
  testRun,
  testTrace,
} from '../../fakes/http-deps.ts'
import { problemsOf } from '../../fakes/openai-schema.ts'

const path = '/v1/chat/completions'
const json = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }], stream: true }

async function stream(items: readonly StreamItem[], extra: object = {}) {
  const response = await createFakeApp({ stream: () => linesOf(items) }).send(path, {
    json: { ...json, ...extra },
  })
  const events = (await response.text()).split('\n\n').filter((text) => text !== '')
  const last = events.at(-1)
  const chunks = events
    .filter((text) => text !== 'data: [DONE]')
    .map((text) => JSON.parse(text.slice(6)))
  const contents = chunks.flatMap((chunk) => chunk.choices?.[0]?.delta?.content || [])
  return { response, events, last, chunks, contents, text: contents.join('') }
}

/** A stream whose pieces the test lets through one by one. */
function manual() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const write = (text: string) => writer.write(new TextEncoder().encode(text))
  return { readable, writer, write, push: (item: StreamItem) => write(`${JSON.stringify(item)}\n`) }
}

describe('a streamed chat completion', () => {
  it('M6: sends chunks that OpenAI describes, role first, finish reason last', async () => {
    const { response, chunks, last } = await stream([
      delta('Hel'),
      delta('lo', { offset: 3 }),
      finished(resultOf({ result: 'Hello' })),
    ])
    expect(
      chunks.flatMap((chunk) => problemsOf('CreateChatCompletionStreamResponse', chunk)),
    ).toEqual([])
    expect(chunks.map(({ choices }) => [choices[0].delta, choices[0].finish_reason])).toEqual([
      [{ role: 'assistant', content: '', refusal: null }, null],
      [{ content: 'Hel' }, null],
      [{ content: 'lo' }, null],
      [{}, 'stop'],
    ])
    expect(last).toBe('data: [DONE]')
    expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set([`chatcmpl-${testRun}`]))
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-isola-run': testRun,
      'x-isola-trace': testTrace,
    })
  })

  it('sends usage last, with no choices, only if asked', async () => {
    const items = [delta('Hello there'), finished(resultOf())]
    const asked = await stream(items, { stream_options: { include_usage: true } })
    expect(asked.chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    })
    expect(asked.chunks.slice(0, -1).map(({ usage }) => usage)).toEqual([null, null, null])
    expect(
      asked.chunks.flatMap((c) => problemsOf('CreateChatCompletionStreamResponse', c)),
    ).toEqual([])
    expect((await stream(items)).chunks.some((chunk) => 'usage' in chunk)).toBe(false)
  })

  it('shows the text of every turn and none of our tools', async () => {
    const tool: StreamItem = {
      ...(finished(resultOf()) as Extract<StreamItem, { seq: number }>),
      type: 'tool_started',
      data: { tool: 'kv__set', call: 'call_1', argsHash: '', definitionHash: '', inputChars: 2 },
    }
    const { text, events } = await stream([
      delta('Let me look.'),
      tool,
      delta('Found', { turn: 2 }),
      delta(' it.', { turn: 2, offset: 5 }),
      finished(resultOf({ result: 'Found it.' })),
    ])
    expect(text).toBe('Let me look.\n\nFound it.')
    expect(events.join('')).not.toContain('kv__set')
  })

  it.each([
    ['the whole, if no delta came', [], 'Hello there', 'Hello there'],
    ['the rest, if only a part came', [delta('Hello')], 'Hello there', 'Hello there'],
    ['it after an earlier turn', [delta('Wait.')], 'Done.', 'Wait.\n\nDone.'],
    ['nothing twice', [delta('Hello there\n')], 'Hello there', 'Hello there\n'],
    ['it, though an earlier turn ends alike', [delta('It is 4')], '4', 'It is 4\n\n4'],
    [
      'it apart, though its first piece is empty',
      [delta('Wait.'), delta('', { turn: 2 }), delta('Done.', { turn: 2 })],
      'Done.',
      'Wait.\n\nDone.',
    ],
    [
      'nothing for an overlap',
      [delta('Hello'), delta('llo there', { offset: 2 })],
      'Hello there',
      'Hello there',
    ],
  ])('of the final message sends %s', async (_name, deltas, result, expected) => {
    expect((await stream([...deltas, finished(resultOf({ result }))])).text).toBe(expected)
  })

  it('of a stopped run ends for length, with all turns said once', async () => {
    const result = resultOf({ state: 'stopped', success: false, result: 'One\n\nTwo' })
    const { text, chunks } = await stream([
      delta('One'),
      delta('Two', { turn: 2 }),
      finished(result),
    ])
    expect([text, chunks.at(-1).choices[0].finish_reason]).toEqual(['One\n\nTwo', 'length'])
  })

  it('of a run stopped in the middle of a message adds nothing to what was sent', async () => {
    const result = resultOf({ state: 'stopped', success: false, result: 'One' })
    const { text } = await stream([delta('One'), delta('Tw', { turn: 2 }), finished(result)])
    expect(text).toBe('One\n\nTw')
  })

  it('reads messages that were finished before it joined, and none of them twice', async () => {
    const told = (turn: number, text: string): StreamItem => ({
      ...(finished(resultOf()) as Extract<StreamItem, { seq: number }>),
      type: 'message_finished',
      data: { turn, text },
    })
    const { text } = await stream([
      told(1, 'One'),
      delta('Tw', { turn: 2 }),
      told(1, 'One'),
      delta('o', { turn: 2, offset: 2 }),
      told(2, 'Two'),
      finished(resultOf({ result: 'Two' })),
    ])
    expect(text).toBe('One\n\nTwo')
  })

  it('leaves out what belongs to another run', async () => {
    const other = { ...delta('Not mine'), run: 'run_other' }
    expect(
      (await stream([other, delta('Mine'), finished(resultOf({ result: 'Mine' }))])).text,
    ).toBe('Mine')
  })

  it.each([
    ['failed', { code: 'model_unavailable', message: 'Gone.' }, 'model_unavailable', 'Gone.'],
    ['failed', { code: 'internal', message: 'secret' }, 'internal_error', 'Something went wrong'],
    ['cancelled', undefined, 'conflict', 'The run was cancelled'],
  ] as const)('of a %s run (%j) ends with an error event', async (state, error, code, message) => {
    const result = resultOf({ state, success: false, ...(error && { error }) })
    const { last } = await stream([delta('Hel'), finished(result)])
    const body = JSON.parse(last?.slice(6) ?? '')
    expect(body.error).toMatchObject({ code, message: expect.stringContaining(message) })
    expect(problemsOf('ErrorResponse', body)).toEqual([])
  })

  it('that breaks off ends with an error event', async () => {
    const { last } = await stream([delta('Hel')])
    expect(JSON.parse(last?.slice(6) ?? '').error).toMatchObject({ code: 'unavailable' })
  })

  it('whose source fails ends with an error event that tells nothing of why', async () => {
    const broken = () =>
      new ReadableStream<Uint8Array>({ start: (c) => c.error(new Error('secret')) })
    const { send, faults } = createFakeApp({ stream: broken })
    const text = await (await send(path, { json })).text()
    expect(text).toContain('"code":"unavailable"')
    expect(text).not.toContain('secret')
    expect(faults).toHaveLength(1)
  })

  it('is refused with a status before it starts', async () => {
    const refusal = { code: 'request_idempotency_mismatch', message: 'Another body.' }
    const response = await createFakeApp({ refusal }).send(path, { json })
    expect([response.status, response.headers.get('content-type')]).toEqual([
      422,
      'application/json',
    ])
  })
})

describe('a chat stream under way', () => {
  async function open(signal?: AbortSignal) {
    const source = manual()
    const fake = createFakeApp({ stream: () => source.readable })
    const sent = fake.send(path, { json, ...(signal && { signal }) })
    // The status line waits for the first piece, or ten seconds.
    await new Promise((resolve) => setTimeout(resolve, 5))
    fake.tick(10_000)
    const response = await sent
    const reader = response.body!.getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await read()).toContain('"role":"assistant"')
    return { source, fake, reader, read }
  }

  it('forwards every piece before the next one comes', async () => {
    const { source, read } = await open()
    for (const text of ['a', 'b', 'c']) {
      const written = source.push(delta(text, { offset: text.charCodeAt(0) - 97 }))
      expect(await read()).toContain(`"content":"${text}"`)
      await written
    }
  })

  it('puts characters together that were cut between two pieces', async () => {
    const { source, read } = await open()
    const bytes = new TextEncoder().encode(`${JSON.stringify(delta('ü€😀'))}\n`)
    const got = read()
    for (const byte of bytes) await source.writer.write(Uint8Array.of(byte))
    expect(await got).toContain('ü€😀')
  })

  it('sends a comment for every 2.5 seconds of silence', async () => {
    const { source, fake, read } = await open()
    for (let n = 0; n < 2; n += 1) {
      const got = read()
      await new Promise((resolve) => setTimeout(resolve, 5))
      fake.tick(2_500)
      expect(await got).toMatch(/^: /)
    }
    const got = read()
    await source.push(delta('a'))
    expect(await got).toContain('"content":"a"')
  })

  it('tells once when the client closes it', async () => {
    const { fake, reader, source } = await open()
    await reader.cancel()
    await expect(source.push(delta('late'))).rejects.toBeUndefined()
    expect(fake.gone).toEqual([
      {
        session: expect.stringMatching(/^ses_/),
        run: testRun,
        reader: 'reader',
        principal: 'operator',
      },
    ])
  })

  it('tells once when the request is aborted', async () => {
    const abort = new AbortController()
    const { fake, reader } = await open(abort.signal)
    abort.abort()
    await reader.cancel().catch(() => undefined)
    expect(fake.gone).toHaveLength(1)
  })

  it('tells nothing when it came to its end', async () => {
    const { fake, source, reader, read } = await open()
    const got = read()
    await source.push(finished(resultOf()))
    expect(await got).toContain('[DONE]')
    expect((await reader.read()).done).toBe(true)
    expect(fake.gone).toEqual([])
  })
})
