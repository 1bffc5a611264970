import { describe, expect, it } from 'vitest'
import type { McpCall, McpItem } from '../../../src/runtime/catalog/types/mcp.ts'
import { createLinkWorld } from '../../fakes/mcp-link.ts'
import { createFakeMcp, type FakeTool } from '../../fakes/mcp-server.ts'

const eras = ['modern', 'legacy'] as const
type Era = (typeof eras)[number]

const json = (body: string, status = 200, type = 'application/json') =>
  new Response(body, { status, headers: { 'content-type': type } })

/** One call, answered by a whole response that the test writes by hand. */
async function answered(
  era: Era,
  write: (id: unknown) => Response,
  { tool = { name: 'say' }, count = () => {} }: { tool?: FakeTool; count?: () => void } = {},
) {
  const server = createFakeMcp({
    era,
    tools: [tool],
    more: {
      'tools/call': (_params, { id }) => {
        count()
        return write(id)
      },
    },
  })
  const world = createLinkWorld(server)
  return world.callTool(await world.itemOf(tool.name))
}

const complete = (era: Era) => (era === 'modern' ? { resultType: 'complete' } : {})
const envelope = (id: unknown, more: object) => JSON.stringify({ jsonrpc: '2.0', id, ...more })

/** One call whose result is this. */
const resultOf = (era: Era, result: object, tool?: FakeTool) =>
  answered(era, (id) => json(envelope(id, { result: { ...complete(era), ...result } })), {
    ...(tool && { tool }),
  })

const contentOf = async (era: Era, content: unknown) => {
  const result = await resultOf(era, { content })
  return Object(Object(result).output).content
}
const hi = { type: 'text', text: 'hi' }

describe.each(eras)(
  'A 15: a call that was done is read, whatever stands beside its answer (%s)',
  (era) => {
    const whole = { ...complete(era), content: [hi] }
    const done = { ok: true, output: { content: [hi] } }

    it.each<readonly [string, (id: unknown) => string]>([
      ['error: null beside the result', (id) => envelope(id, { result: whole, error: null })],
      [
        'an error that says nothing (Go)',
        (id) => envelope(id, { result: whole, error: { code: 0, message: '' } }),
      ],
      ['error: false', (id) => envelope(id, { result: whole, error: false })],
      ['isError: null', (id) => envelope(id, { result: { ...whole, isError: null } })],
      [
        'structuredContent: null',
        (id) => envelope(id, { result: { ...whole, structuredContent: null } }),
      ],
      ['_meta: null', (id) => envelope(id, { result: { ...whole, _meta: null } })],
      [
        'annotations: null',
        (id) =>
          envelope(id, {
            result: { ...whole, content: [{ ...hi, annotations: null, _meta: null }] },
          }),
      ],
      [
        'a field of its own in the message',
        (id) => envelope(id, { result: whole, session: null, took: 3 }),
      ],
      ['no jsonrpc', (id) => JSON.stringify({ id, result: whole })],
      ['the id as a text', (id) => envelope(String(id), { result: whole })],
      ['id: null', () => envelope(null, { result: whole })],
      ['a byte order mark', (id) => `\ufeff${envelope(id, { result: whole })}`],
      ['a list of one message', (id) => `[${envelope(id, { result: whole })}]`],
    ])('%s is no failure', async (_what, write) => {
      expect(await answered(era, (id) => json(write(id)))).toMatchObject(done)
    })

    it.each([
      ['text/plain', 200],
      ['application/vnd.api+json', 200],
      ['', 201],
    ])('JSON under the content type "%s" is read', async (type, status) => {
      const result = await answered(era, (id) =>
        json(envelope(id, { result: whole }), status, type),
      )
      expect(result).toMatchObject(done)
    })

    it('a stream under the content type of JSON is read, and one without its last empty line', async () => {
      const event = (id: unknown) => `data: ${envelope(id, { result: whole, error: null })}`
      expect(await answered(era, (id) => json(`${event(id)}\n\n`))).toMatchObject(done)
      for (const end of ['', '\n', '\r\n', '\r\n\r\n'])
        expect(
          await answered(era, (id) =>
            json(`event: answer\r\n${event(id)}${end}`, 200, 'text/event-stream'),
          ),
        ).toMatchObject(done)
    })

    it('a list of messages in an event is as many messages', async () => {
      const note = { jsonrpc: '2.0', method: 'notifications/message', params: null }
      const list = (id: unknown) =>
        `[${JSON.stringify(note)}, ${envelope(id, { result: { ...whole, _meta: null }, error: null })}]`
      for (const end of ['', '\n\n'])
        expect(
          await answered(era, (id) =>
            json(`id: 7\ndata: ${list(id)}${end}`, 200, 'text/event-stream'),
          ),
        ).toMatchObject(done)
    })

    it('an answer in two lines of data, in pieces of one byte, is whole', async () => {
      const stream = (id: unknown) => {
        const [one, two] = envelope(id, { result: whole, error: null }).split(',"result"')
        const bytes = new TextEncoder().encode(
          `: hello\r\nid: 7\r\ndata: ${one}\r\ndata: ,"result"${two}\r\n\r\n`,
        )
        return new Response(
          new ReadableStream<Uint8Array>({
            start(controller) {
              for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
              controller.close()
            },
          }),
          { headers: { 'content-type': 'text/event-stream' } },
        )
      }
      expect(await answered(era, stream)).toMatchObject(done)
    })

    it.each<readonly [string, object, object]>([
      [
        'content: null with structuredContent',
        { content: null, structuredContent: { a: 1 } },
        { structured: { a: 1 } },
      ],
      [
        'no content with structuredContent',
        { structuredContent: { a: null } },
        { structured: { a: null } },
      ],
      [
        'a list as structuredContent',
        { content: [], structuredContent: [1, 2] },
        { structured: [1, 2] },
      ],
      ['content: null alone', { content: null }, { content: [{ type: 'text', text: '' }] }],
      ['a text as content', { content: 'hi' }, { content: [hi] }],
      ['one part as content', { content: hi }, { content: [hi] }],
      ['a list of texts', { content: ['hi', null] }, { content: [hi] }],
      [
        'toolResult of the first protocol',
        { toolResult: { a: 1 } },
        { content: [{ type: 'text', text: '{"toolResult":{"a":1}}' }] },
      ],
    ])('%s is an answer', async (_what, result, output) => {
      expect(await resultOf(era, result)).toMatchObject({ ok: true, output })
    })

    it('result: null is an answer that says nothing', async () => {
      const result = await answered(era, (id) => json(envelope(id, { result: null, error: null })))
      expect(result).toMatchObject({ ok: true, output: { content: [{ type: 'text', text: '' }] } })
    })

    it.each<readonly [string, (id: unknown) => Response, string]>([
      ['a page', () => json('<html>It is done.</html>', 200, 'text/html'), 'no JSON'],
      ['half of its JSON', (id) => json(envelope(id, { result: whole }).slice(0, 40)), 'no JSON'],
      ['nothing', () => json(''), 'no JSON'],
      ['JSON that is no message', () => json('{"ok":true}'), 'no JSON-RPC message'],
      ['a text of JSON', () => json('"done"'), 'no JSON-RPC message'],
      [
        'content that is a number',
        (id) => json(envelope(id, { result: { ...complete(era), content: 3 } })),
        'content is no list',
      ],
    ])(
      '%s is an answer that cannot be read, and not one to ask again for',
      async (_what, write, why) => {
        let calls = 0
        const result = await answered(era, write, { count: () => void (calls += 1) })
        expect(result).toMatchObject({ ok: false, error: { code: 'tool_failed' } })
        expect(JSON.stringify(result)).toContain(why)
        expect(JSON.stringify(result)).not.toMatch(/transient|reached/)
        expect(calls).toBe(1)
      },
    )

    it.each<readonly [string, object, string]>([
      ['a text as error', { error: 'No such city.' }, 'No such city.'],
      [
        'an error beside result: null',
        { error: { code: -32000, message: 'No such city.', data: null }, result: null },
        'No such city.',
      ],
      [
        'a code that is a text',
        { error: { code: 'E_CITY', message: 'No such city.' } },
        'No such city.',
      ],
      [
        'message: null and its data',
        { error: { code: -1, message: null, data: { why: 'No such city.' } } },
        'No such city.',
      ],
      [
        'a reason that stands in its data',
        { error: { code: -32603, message: 'Internal error', data: { detail: 'No such city.' } } },
        'No such city.',
      ],
    ])('%s is told in its words', async (_what, message, why) => {
      const result = await answered(era, (id) => json(envelope(id, message)))
      expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining(why) } })
      expect(JSON.stringify(result)).not.toMatch(/transient|reached/)
    })

    it.each([500, 422, 400])(
      'an error of the protocol under HTTP %d is told in its words',
      async (status) => {
        const error = { code: -32000, message: 'The index is being built.' }
        const result = await answered(era, (id) => json(envelope(id, { error }), status))
        expect(result).toMatchObject({
          error: { message: expect.stringContaining('index is being built') },
        })
      },
    )

    it('an answer that misses its own output schema was given, and is not asked for again', async () => {
      const outputSchema = {
        type: 'object',
        properties: { a: { type: 'number' } },
        required: ['a'],
      }
      const tool = { name: 'say', outputSchema }
      for (const [result, why] of [
        [{ content: [hi] }, 'did not return structured content'],
        [{ content: [hi], structuredContent: null }, 'did not return structured content'],
        [{ content: [hi], structuredContent: { a: 'x' } }, 'does not match its output schema'],
      ] as const) {
        const failed = await resultOf(era, result, tool)
        expect(failed).toMatchObject({
          ok: false,
          error: { message: expect.stringContaining(why) },
        })
        expect(JSON.stringify(failed)).not.toMatch(/transient|refused/)
      }
      const fits = await resultOf(era, { content: null, structuredContent: { a: 1 } }, tool)
      expect(fits).toMatchObject({ ok: true, output: { structured: { a: 1 } } })
    })
  },
)

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const urlSafe = png.replaceAll('+', '-').replaceAll('/', '_')

describe.each(eras)('A 16: parts of an answer as others write them (%s)', (era) => {
  const image = { type: 'image', data: png, mimeType: 'image/png' }
  it.each<readonly [string, object]>([
    [
      'line breaks (Python, base64 -w 76)',
      { ...image, data: `${png.match(/.{1,40}/g)!.join('\n')}\n` },
    ],
    [
      'line breaks of two characters (MIME)',
      { ...image, data: png.match(/.{1,76}/g)!.join('\r\n') },
    ],
    ['the url-safe alphabet', { ...image, data: urlSafe }],
    ['no padding', { ...image, data: png.replace(/=+$/, '') }],
    ['the url-safe alphabet without padding (Go)', { ...image, data: urlSafe.replace(/=+$/, '') }],
    ['a data URL', { ...image, data: `data:image/png;base64,${png}` }],
    ['a data URL and no mimeType', { type: 'image', data: `data:image/png;base64,${png}` }],
    ['no mimeType', { type: 'image', data: png, mimeType: null }],
    ['annotations: null', { ...image, annotations: null }],
    [
      'the form of Anthropic',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
    ],
    [
      'the form of OpenAI',
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
    ],
  ])('a picture with %s is that picture', async (_what, block) => {
    expect(await contentOf(era, [hi, block, hi])).toEqual([hi, image, hi])
  })

  it('a sound is read likewise', async () => {
    const sound = { type: 'audio', data: 'UklG\nRg', mimeType: 'audio/wav' }
    expect(await contentOf(era, [sound])).toEqual([{ ...sound, data: 'UklGRg==' }])
  })

  it.each<readonly [string, unknown, string]>([
    ['a picture that is no base64', { ...image, data: '<svg/>' }, 'An image that cannot be read'],
    [
      'a picture that is an address',
      { ...image, data: 'https://a.example/b.png' },
      'https://a.example/b.png',
    ],
    ['a picture without data', { type: 'image', data: null, mimeType: 'image/png' }, 'An image'],
    [
      'a sound as a list of bytes',
      { type: 'audio', data: [1, 2], mimeType: 'audio/wav' },
      'A sound',
    ],
    ['a part of tomorrow', { type: 'video', data: 'AAAA', note: 'clip' }, 'type video'],
    [
      'a part of another service',
      { type: 'tool_use', id: 'x', input: { a: 1 } },
      '"input":{"a":1}',
    ],
    ['a part without a type', { url: 'https://a.example' }, 'https://a.example'],
    ['a resource without contents', { type: 'resource', resource: { uri: 'a:b' } }, 'A resource'],
    ['a resource that is null', { type: 'resource', resource: null }, 'A resource'],
    ['a link without an address', { type: 'resource_link', name: 'x' }, 'A link'],
    ['a number', 7, '7'],
  ])('%s costs that part, and is said in its place', async (_what, block, said) => {
    const [before, odd, after, ...more] = await contentOf(era, [hi, block, hi])
    expect([before, after, more]).toEqual([hi, hi, []])
    expect(odd).toMatchObject({ type: 'text', text: expect.stringContaining(said) })
  })

  it('a part that is null is none, and a text that is null is empty', async () => {
    expect(await contentOf(era, [null, { type: 'text', text: null }])).toEqual([
      { type: 'text', text: '' },
    ])
  })

  it('a long field of an unknown part is cut, and says so', async () => {
    const [odd] = await contentOf(era, [{ type: 'video', data: 'A'.repeat(50_000) }])
    expect(odd.text.length).toBeLessThan(2_200)
    expect(odd.text).toContain('(50000 characters)')
  })

  it('a link with nulls is that link', async () => {
    const link = {
      type: 'resource_link',
      uri: 'file:///a',
      name: null,
      title: null,
      size: null,
      mimeType: null,
    }
    expect(await contentOf(era, [link])).toEqual([
      { type: 'resource_link', uri: 'file:///a', name: 'file:///a' },
    ])
  })

  const bytes = (text: string) => Buffer.from(text).toString('base64')
  it.each<readonly [string, object, string]>([
    ['text/plain', { mimeType: 'text/plain', blob: bytes('Grüße') }, 'Grüße'],
    [
      'text/markdown; charset=utf-8',
      { mimeType: 'text/markdown; charset=utf-8', blob: bytes('# A') },
      '# A',
    ],
    ['text in Latin 1', { mimeType: 'text/plain; charset=iso-8859-1', blob: 'R3L832U=' }, 'Grüße'],
    ['application/json', { mimeType: 'application/json', blob: bytes('{"a":1}') }, '{"a":1}'],
    ['application/ld+json', { mimeType: 'application/ld+json', blob: bytes('{}') }, '{}'],
    ['application/xml', { mimeType: 'application/xml', blob: bytes('<a/>') }, '<a/>'],
    ['image/svg+xml', { mimeType: 'image/svg+xml', blob: bytes('<svg/>') }, '<svg/>'],
    ['application/yaml', { mimeType: 'application/yaml', blob: bytes('a: 1') }, 'a: 1'],
    ['no type at all', { mimeType: null, blob: bytes('日本語') }, '日本語'],
    ['a data URL', { blob: `data:text/csv;base64,${bytes('a,b')}` }, 'a,b'],
    [
      'text with line breaks in its base64',
      {
        mimeType: 'text/plain',
        blob: `${bytes('abcdef').slice(0, 4)}\n${bytes('abcdef').slice(4)}`,
      },
      'abcdef',
    ],
  ])('a text that came as bytes is a text: %s', async (_what, given, text) => {
    const [block] = await contentOf(era, [{ type: 'resource', resource: { uri: 'a:b', ...given } }])
    expect(block.resource).toMatchObject({ uri: 'a:b', text })
  })

  it.each<readonly [string, string]>([
    ['application/pdf', bytes('%PDF-1.7')],
    ['image/png', png],
    ['text/plain', '/////w=='],
  ])('bytes that are no text stay bytes: %s', async (mimeType, blob) => {
    const resource = { uri: 'a:b', mimeType, blob }
    expect(await contentOf(era, [{ type: 'resource', resource }])).toEqual([
      { type: 'resource', resource },
    ])
  })

  it('a resource that is read, and a prompt, are read by the same rules', async () => {
    const server = createFakeMcp({
      era,
      more: {
        'resources/list': () => listing({ resources: [{ uri: 'a:b', name: 'b' }] }),
        'prompts/list': () => listing({ prompts: [{ name: 'p' }] }),
        'resources/read': () =>
          listing({
            contents: [
              { uri: 'a:b', mimeType: 'text/plain', blob: bytes('hi'), _meta: null },
              { uri: 'a:b' },
            ],
          }),
        'prompts/get': () => ({
          ...complete(era),
          description: null,
          messages: [
            { role: 'user', content: 'hi' },
            { role: 'assistant', content: [hi, { ...image, data: urlSafe }] },
            { role: 'system', content: hi },
          ],
        }),
      },
    })
    const listing = (result: object) => ({
      ...result,
      ...(era === 'modern' && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }),
    })
    const world = createLinkWorld(server)
    const asked = async (key: string, ask: McpCall['ask']) => {
      const item: McpItem = await world.itemOf(key)
      return world.call(world.callOf(item, ask))
    }
    expect(await asked('a:b', { do: 'resource', uri: 'a:b' })).toMatchObject({
      output: {
        content: [
          { type: 'resource', resource: { uri: 'a:b', text: 'hi' } },
          { type: 'text', text: expect.stringContaining('A resource') },
        ],
      },
    })
    expect(await asked('p', { do: 'prompt', arguments: {} })).toMatchObject({
      output: {
        structured: {
          messages: [
            { role: 'user', content: hi },
            { role: 'assistant', content: hi },
            { role: 'assistant', content: image },
            { role: 'user', content: hi },
          ],
        },
      },
    })
  })
})

describe.each(eras)('A 17: why a tool failed reaches the model (%s)', (era) => {
  const why = 'missing semicolon in main.c:77'
  const noise = 'note: one file more\n'.repeat(150)
  it.each<readonly [string, object]>([
    ['in structuredContent alone', { content: [], structuredContent: { trace: why } }],
    [
      'in structuredContent, with content: null',
      { content: null, structuredContent: { errors: [{ why }] } },
    ],
    [
      'in structuredContent beside a text',
      {
        content: [{ type: 'text', text: 'See structuredContent.' }],
        structuredContent: { trace: why },
      },
    ],
    [
      'in structuredContent beside a long text',
      { content: [{ type: 'text', text: noise }], structuredContent: { trace: why } },
    ],
    ['in a resource', { content: [{ type: 'resource', resource: { uri: 'log://1', text: why } }] }],
    [
      'in a resource of bytes',
      {
        content: [
          {
            type: 'resource',
            resource: {
              uri: 'log://1',
              mimeType: 'text/plain',
              blob: Buffer.from(why).toString('base64'),
            },
          },
        ],
      },
    ],
    ['in _meta', { content: [], _meta: { 'acme/reason': why } }],
    [
      'in _meta beside a text',
      { content: [{ type: 'text', text: 'It failed.' }], _meta: { reason: why } },
    ],
    [
      'behind 2,000 characters',
      { content: [{ type: 'text', text: `build failed\n${noise}${why}` }] },
    ],
    [
      'in the last of many texts',
      { content: [...noise.split('\n'), why].map((text) => ({ type: 'text', text })) },
    ],
    [
      'at the end of a long structuredContent',
      { content: [], structuredContent: { log: `${noise}${why}` } },
    ],
    ['in a part of another service', { content: [{ type: 'error', message: why }] }],
    [
      'in a link',
      { content: [{ type: 'resource_link', uri: 'log://1', name: 'log', description: why }] },
    ],
    ['in a field of its own', { content: null, message: why }],
  ])('%s', async (_what, result) => {
    const failed = await resultOf(era, { isError: true, ...result })
    expect(failed).toMatchObject({ ok: false, error: { code: 'tool_failed' } })
    expect(Object(Object(failed).error).message).toContain(why)
    expect(JSON.stringify(failed).length).toBeLessThan(2_200)
  })

  it('is not said twice where the text is what is structured', async () => {
    const structuredContent = { trace: why }
    const content = [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }]
    const failed = await resultOf(era, { isError: true, content, structuredContent })
    expect(JSON.stringify(failed).split(why)).toHaveLength(2)
  })
})

describe.each(eras)('A 12: half of a surrogate pair in an answer (%s)', (era) => {
  const half = String.raw`\ud83d`
  const write = (result: string) => (id: unknown) =>
    json(
      `{"jsonrpc":"2.0","id":${Number(id)},"result":{${era === 'modern' ? '"resultType":"complete",' : ''}${result}}}`,
    )
  it.each<readonly [string, string]>([
    ['a text', `"content":[{"type":"text","text":"ab${half}"}]`],
    ['a value of what is structured', `"content":[],"structuredContent":{"a":"${half}c"}`],
    ['a key of what is structured', `"content":[],"structuredContent":{"a${half}":1}`],
    [
      'the address of a resource',
      `"content":[{"type":"resource","resource":{"uri":"a:${half}","text":""}}]`,
    ],
    ['the words of a failure', `"isError":true,"content":[{"type":"text","text":"no ${half}"}]`],
    [
      'two halves in the wrong order',
      String.raw`"content":[{"type":"text","text":"\ude00\ud83d"}]`,
    ],
  ])('%s is well-formed', async (_what, result) => {
    const text = JSON.stringify(await answered(era, write(result)))
    expect(text).toContain('\ufffd')
    expect(text).not.toMatch(/\\ud[89a-f]/i)
  })

  it('whole pairs and escaped backslashes stay', async () => {
    const said = String.raw`"content":[{"type":"text","text":"\ud83d\ude00 C:\\ud83d \\\\ud83d"}]`
    expect(await answered(era, write(said))).toMatchObject({
      output: { content: [{ text: String.raw`😀 C:\ud83d \\ud83d` }] },
    })
  })

  it('in a stream likewise', async () => {
    const event = (id: unknown) =>
      `data: {"jsonrpc":"2.0","id":${Number(id)},"result":{${era === 'modern' ? '"resultType":"complete",' : ''}"content":[{"type":"text","text":"a${half}"}]}}\n\n`
    const result = await answered(era, (id) => json(event(id), 200, 'text/event-stream'))
    expect(result).toMatchObject({ output: { content: [{ type: 'text', text: 'a\ufffd' }] } })
  })
})
