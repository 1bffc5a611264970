import { describe, expect, it } from 'vitest'
import { ask, bothWays, chunk, done, ended, event, text, whole } from './replies.ts'

const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }

describe('A08: a reply in parts was lost', () => {
  it.each<[string, unknown, string]>([
    [
      'text parts',
      [
        { type: 'text', text: 'the answer ' },
        { type: 'text', text: 'is 42' },
      ],
      'the answer is 42',
    ],
    ['thinking, then text (Mistral)', [thinking, { type: 'text', text: 'is 42' }], 'is 42'],
    ['output_text parts', [{ type: 'output_text', text: 'is 42', annotations: [] }], 'is 42'],
    ['bare texts', ['is ', '42'], 'is 42'],
    ['a refusal part', [{ type: 'refusal', refusal: 'No.' }], 'No.'],
    [
      'reasoning parts',
      [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'is 42' },
      ],
      'is 42',
    ],
    ['a thought of Gemini', { parts: [{ text: 'hm', thought: true }, { text: 'is 42' }] }, 'is 42'],
    ['one part', { type: 'text', text: 'is 42' }, 'is 42'],
    ['a text as an object', { text: 'is 42' }, 'is 42'],
    ['a value within a part', [{ type: 'text', text: { value: 'is 42' } }], 'is 42'],
    ['parts without a type', [{ text: 'is ' }, { content: '42' }], 'is 42'],
    ['a number', 42, '42'],
    ['an unknown part with a text', [{ type: 'markdown_v2', text: 'is 42' }], 'is 42'],
    [
      '各国語',
      [
        { type: 'text', text: '答えは' },
        { type: 'text', text: '42です' },
      ],
      '答えは42です',
    ],
  ])('%s', async (_what, content, expected) => {
    for (const [way, said, call] of bothWays({ role: 'assistant', content })) {
      const { reply, error } = await ask(said, { call })
      expect(reply?.text, `${way}: ${error?.message}`).toBe(expected)
    }
  })

  it('in pieces, as Mistral streams them', async () => {
    const pieces = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: [thinking] }),
      chunk({ content: [{ type: 'text', text: 'the answer ' }] }),
      chunk({ content: 'is 42' }),
    ]
    const { reply, seen } = await ask({ body: pieces.join('') + ended })
    expect([reply?.text, seen]).toEqual(['the answer is 42', 'the answer is 42'])
  })

  it.each([
    [
      [
        { type: 'text', text: 'Look: ' },
        { type: 'image_url', image_url: { url: 'x' } },
      ],
      'Look: [The model service sent a part that is not shown here: "image_url"]',
    ],
    [
      [{ type: 'audio', data: 'x' }],
      '[The model service sent a part that is not shown here: "audio"]',
    ],
    [
      [5, { type: 'text', text: '!' }],
      '[The model service sent a part that is not shown here: a number]!',
    ],
  ])('a part of a kind that is not known is named in its place', async (content, expected) => {
    for (const [, said, call] of bothWays({ content }))
      expect((await ask(said, { call })).reply?.text).toBe(expected)
  })

  it('an object that is no part is refused, and named', async () => {
    for (const [, said, call] of bothWays({ content: { answer: 42, sources: [] } })) {
      const { error } = await ask(said, { call })
      expect(error).toMatchObject({ code: 'model_invalid_reply' })
      expect(error?.message).toContain('"content" as an object with answer, sources')
    }
  })

  it('A7: a list of very many parts is refused', async () => {
    const content = Array.from({ length: 10_001 }, () => 'x')
    const { error } = await ask({ body: chunk({ content }) + ended })
    expect(error?.code).toBe('model_invalid_reply')
  })

  it('thoughts alone are no answer', async () => {
    const [, said, call] = bothWays({ content: [thinking] })[1]!
    expect((await ask(said, { call })).error?.code).toBe('model_empty_reply')
  })
})

describe('A08: a reply in another field was lost', () => {
  const json = 'application/json'
  it.each<[string, object]>([
    ['message.text', { message: { text: 'is 42' } }],
    ['choices[0].text, as in the first version', { text: 'is 42' }],
    ['a message that is a text', { message: 'is 42' }],
    ['a delta where a message belongs', { delta: { content: 'is 42' } }],
    ['a refusal', { message: { content: null, refusal: 'is 42' } }],
    ['a refusal beside an empty text', { message: { content: '', refusal: 'is 42' } }],
  ])('%s', async (_what, choice) => {
    const body = JSON.stringify({ choices: [{ ...choice, finish_reason: 'stop' }] })
    const { reply, error } = await ask({ body, type: json }, { call: { isUnwatched: true } })
    expect(reply?.text, error?.message).toBe('is 42')
    const streamed = await ask({ body: `data: ${body}\n\n${done}` })
    expect(streamed.reply?.text, streamed.error?.message).toBe('is 42')
  })

  it('a stream that ends with the whole message says it once (MiniMax)', async () => {
    const last = event({ choices: [{ message: { content: 'all well' }, finish_reason: 'stop' }] })
    const { reply, seen } = await ask({ body: text('all ') + text('well') + last })
    expect([reply?.text, seen]).toEqual(['all well', 'all well'])
  })

  it('calls that come again with the whole message are made once', async () => {
    const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{"at":1}' } }
    const last = event({
      choices: [{ message: { tool_calls: [call] }, finish_reason: 'tool_calls' }],
    })
    const { reply } = await ask({ body: chunk({ tool_calls: [call] }) + last })
    expect(reply?.toolCalls).toHaveLength(1)
  })

  it('several choices of one reply are one: its text, then its calls', async () => {
    const tool_calls = [{ id: 'a', function: { name: 'look', arguments: '{}' } }]
    const choices = [
      { message: { content: 'I look.' }, finish_reason: 'tool_calls' },
      { message: { content: null, tool_calls }, finish_reason: 'tool_calls' },
    ]
    const said = { body: JSON.stringify({ choices }), type: json }
    const { reply } = await ask(said, { call: { isUnwatched: true } })
    expect(reply).toMatchObject({ text: 'I look.', toolCalls: [{ name: 'look' }] })
  })

  it('a choice with another number is another reply', async () => {
    const choices = ['one', 'two'].map((content, index) => {
      return { index, message: { content }, finish_reason: 'stop' }
    })
    const said = { body: JSON.stringify({ choices }), type: json }
    expect((await ask(said, { call: { isUnwatched: true } })).reply?.text).toBe('one')
  })

  it.each([
    ['choices as a text', { choices: 'x' }, '"choices" as a string'],
    ['a choice that is a list', { choices: [{ message: ['x'] }] }, 'a message as a list'],
    ['a choice that is null', { choices: [null] }, 'a choice as null'],
    [
      'calls as a text',
      { choices: [{ message: { tool_calls: 'look()' } }] },
      '"tool_calls" as a string',
    ],
  ])('%s is refused by name', async (_what, body, named) => {
    const { error } = await ask(
      { body: JSON.stringify(body), type: json },
      { call: { isUnwatched: true } },
    )
    expect(error).toMatchObject({ code: 'model_invalid_reply' })
    expect(error?.message).toContain(named)
  })
})

describe('A12: half of a character made a server refuse every later turn', () => {
  it('is replaced in texts, names, arguments and ids', async () => {
    const call = {
      id: 'c\ud800',
      function: { name: 'no\udc00te', arguments: '{"te\\ud83dxt":"a\\ud83d","list":["\\udfff"]}' },
    }
    for (const [, said, options] of bothWays(
      { content: 'a\ud83d b', tool_calls: [call] },
      'tool_calls',
    )) {
      const { reply } = await ask(said, { call: options })
      expect(reply?.text).toBe('a\ufffd b')
      expect(reply?.toolCalls).toEqual([
        { id: 'c\ufffd', name: 'no\ufffdte', input: { 'te\ufffdxt': 'a\ufffd', list: ['\ufffd'] } },
      ])
    }
  })

  it.each(['🤔', '👩‍🚀', '𠮷野家', '🇫🇷', '𝒜𝒷'])(
    'but a character in two pieces stays whole: %s',
    async (said) => {
      const halves = said.split('').map(text)
      const { reply, seen } = await ask({ body: halves.join('') + ended })
      expect([reply?.text, seen]).toEqual([said, said])
    },
  )

  it('at the end, and where the second half is missing', async () => {
    const { reply, seen } = await ask({
      body: text('a\ud83d') + text('b') + text('\ud83d') + ended,
    })
    expect(reply?.text).toBe('a\ufffdb\ufffd')
    expect(reply?.text.startsWith(seen)).toBe(true)
  })

  it('in arguments that come in pieces', async () => {
    const piece = (args: string, name?: string) =>
      chunk({
        tool_calls: [{ index: 0, ...(name && { id: 'a' }), function: { name, arguments: args } }],
      })
    const body = piece('{"a":"\ud83e', 'note') + piece('\udd14"}') + chunk({}, 'tool_calls') + done
    expect((await ask({ body })).reply?.toolCalls[0]?.input).toEqual({ a: '🤔' })
  })
})

it('nothing is said of a server that answers nothing', async () => {
  const { error } = await ask({ body: whole(null), type: 'application/json' })
  expect(error?.code).toBe('model_empty_reply')
})
