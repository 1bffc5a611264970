import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { withoutOpaque } from '../../../src/runtime/session/types/session-view.ts'
import type { ModelToolCall } from '#contracts/model.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { ask, bothWays, chunk, done, whole } from './replies.ts'

const called = { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }
const google = { google: { thought_signature: 'c2ln' } }

const transcript = (toolCalls: readonly ModelToolCall[], text = ''): readonly Message[] => [
  { role: 'user', text: 'Hi', taint: ['user'] },
  { role: 'assistant', text, toolCalls, taint: ['model'] },
  ...toolCalls.map(({ id: callId, name }): Message => {
    return { role: 'tool', callId, name, output: 'seen', isError: false, taint: [`tool:${name}`] }
  }),
]

const fine = { body: whole({ content: 'ok' }), type: 'application/json' }
const here = { model: 'deepseek-reasoner', baseUrl: 'https://api.deepseek.test/v1' }

/** What a service is sent in the turn after this message of its own, kept as rows are. */
async function sentAfter(
  message: JsonObject,
  { model, baseUrl }: { readonly model: string; readonly baseUrl: string } = here,
) {
  const sent = []
  for (const [, said, call] of bothWays(
    { content: null, tool_calls: [called], ...message },
    'tool_calls',
  )) {
    const { reply, error } = await ask(said, {
      call,
      request: { model: here.model },
      baseUrl: here.baseUrl,
    })
    if (!reply) throw error
    const kept = JSON.parse(JSON.stringify(reply.toolCalls)) as readonly ModelToolCall[]
    const messages = transcript(kept, reply.text)
    const { bodies } = await ask(fine, { call, request: { model, messages }, baseUrl })
    sent.push((bodies[0]!.messages as readonly JsonObject[])[1]!)
  }
  return sent
}

describe('A11: a field that a service wants back with its call was never given back', () => {
  it.each<[string, JsonObject]>([
    ['reasoning_content (DeepSeek, Moonshot)', { reasoning_content: 'I think\nso 🤔' }],
    ['reasoning (OpenRouter, Groq, vLLM)', { reasoning: 'I think' }],
    [
      'reasoning_details (OpenRouter)',
      {
        reasoning_details: [
          {
            type: 'reasoning.text',
            text: 'I think',
            signature: 's',
            format: 'anthropic-claude-v1',
            index: 0,
          },
          { type: 'reasoning.encrypted', data: 'abc', index: 1 },
        ],
      },
    ],
    ['extra_content (Google)', { extra_content: google }],
    [
      'thinking_blocks (LiteLLM)',
      { thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 'y' }] },
    ],
    [
      'provider_specific_fields (LiteLLM)',
      { provider_specific_fields: { thought_signatures: ['c2ln'] } },
    ],
    ['encrypted_content', { encrypted_content: 'gAAAA' }],
    ['a signature of its own', { reasoning_opaque: 'xyz', signature: 'abc' }],
  ])('%s', async (_what, fields) => {
    for (const message of await sentAfter(fields))
      expect(message).toMatchObject({ ...fields, tool_calls: [{ id: 'a' }] })
  })

  it.each<[string, JsonObject]>([
    ['extra_content (Gemini 3)', { extra_content: google }],
    ['a signature beside the function', { thought_signature: 'c2ln' }],
    [
      'a signature in the function',
      { function: { ...called.function, thought_signature: 'c2ln' } },
    ],
    ['provider_specific_fields', { provider_specific_fields: { thought_signature: 'c2ln' } }],
  ])('with the call itself: %s', async (_what, fields) => {
    for (const message of await sentAfter({ tool_calls: [{ ...called, ...fields }] }))
      expect(message).toMatchObject({ tool_calls: [{ id: 'a', ...fields }] })
  })

  it('parts with thoughts come back in front of the text (Mistral, Anthropic)', async () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const content = [thinking, { type: 'text', text: 'I look.' }]
    for (const message of await sentAfter({ content })) expect(message.content).toEqual(content)
  })

  it('a field that comes in pieces comes back whole', async () => {
    const detail = (fields: object) =>
      chunk({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }] })
    const body = [
      chunk({ reasoning_content: 'I ' }),
      chunk({ reasoning_content: 'think' }),
      detail({ text: 'I ', format: 'f' }),
      detail({ text: 'think', format: 'f' }),
      detail({ signature: 'sig' }),
      chunk({ tool_calls: [{ index: 0, ...called, extra_content: google }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '' }, extra_content: google }] }),
      chunk({}, 'tool_calls'),
      done,
    ]
    const { reply } = await ask({ body })
    expect(reply?.toolCalls[0]?.opaque).toEqual({
      service: 'openai model.test/v1 m',
      reply: {
        reasoning_content: 'I think',
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'I think', format: 'f', signature: 'sig' },
        ],
      },
      call: { extra_content: google },
    })
  })

  it('it stays with its own call of several', async () => {
    const tool_calls = ['a', 'b'].map((id) => ({
      ...called,
      id,
      extra_content: { google: { thought_signature: id } },
    }))
    for (const message of await sentAfter({ tool_calls, reasoning_content: 'once' })) {
      expect(message).toMatchObject({
        reasoning_content: 'once',
        tool_calls: [
          { extra_content: { google: { thought_signature: 'a' } } },
          { extra_content: { google: { thought_signature: 'b' } } },
        ],
      })
    }
  })
})

describe('A11: no other server gets it', () => {
  const fields = {
    reasoning_content: 'I think',
    tool_calls: [{ ...called, extra_content: google }],
  }
  const plain = { role: 'assistant', content: null, tool_calls: [called] }

  it.each([
    ['another server', { ...here, baseUrl: 'https://api.other.test/v1' }],
    ['another path of it', { ...here, baseUrl: 'https://api.deepseek.test/other/v1' }],
    ['a model of another family', { ...here, model: 'qwen3-max' }],
    ['a model of another vendor', { ...here, model: 'anthropic/claude-sonnet-4-5' }],
  ])('%s', async (_what, other) => {
    for (const message of await sentAfter(fields, other)) expect(message).toEqual(plain)
  })

  it('another model of the same family does', async () => {
    const [message] = await sentAfter(fields, { ...here, model: 'deepseek/deepseek-v4' })
    expect(message).toMatchObject({ reasoning_content: 'I think' })
  })

  it('a transcript that is shown has none', async () => {
    const [, said, call] = bothWays({ content: null, ...fields }, 'tool_calls')[1]!
    const { reply } = await ask(said, { call })
    const messages = transcript(reply!.toolCalls)
    expect(JSON.stringify(messages)).toContain('I think')
    expect(JSON.stringify(messages.map(withoutOpaque))).not.toMatch(/I think|opaque|c2ln/)
  })

  it.each([
    "property 'reasoning_content' is unsupported",
    'Extra inputs are not permitted: messages.1.reasoning_content',
    'Unknown name "extra_content" at messages[1].tool_calls',
  ])('a service that refuses its own gets it no more: %s', async (message) => {
    const [, said, call] = bothWays({ content: null, ...fields }, 'tool_calls')[1]!
    const { reply } = await ask(said, { call })
    const refusal = {
      body: JSON.stringify({ error: { message } }),
      type: 'application/json',
      status: 400,
    }
    const { bodies, reply: next } = await ask([refusal, fine], {
      request: { messages: transcript(reply!.toolCalls) },
    })
    expect(next?.text).toBe('ok')
    const sent = bodies.map((body) => JSON.stringify(body))
    expect(sent.map((body) => body.includes('I think'))).toEqual([true, false])
  })
})

describe('A11: it is bounded', () => {
  const big = (chars: number) => ({
    content: null,
    tool_calls: [called],
    reasoning_content: '思'.repeat(chars),
  })

  it.each([
    ['within 300,000 characters it is kept', 200_000, true],
    ['beyond them it is left out, and the reply is read all the same', 300_001, false],
  ])('%s', async (_what, chars, isKept) => {
    for (const [, said, call] of bothWays(big(chars), 'tool_calls')) {
      const { reply } = await ask(said, { call })
      expect(reply?.toolCalls).toMatchObject([{ name: 'look', input: { at: 1 } }])
      expect(reply?.toolCalls[0]?.opaque !== undefined).toBe(isKept)
    }
  })

  it('in pieces without end, too', async () => {
    const body = [
      ...Array<string>(100).fill(chunk({ reasoning: 'x'.repeat(10_000) })),
      chunk({ tool_calls: [called] }, 'tool_calls'),
    ]
    const { reply } = await ask({ body })
    expect(reply?.toolCalls).toEqual([{ id: 'a', name: 'look', input: { at: 1 } }])
  })

  it('it counts for the lease', async () => {
    const tokens = createTokenEstimator()
    const opaque = { service: 's', reply: { reasoning: 'word '.repeat(1_000) } }
    const [plain, heavy] = [{}, { opaque }].map((more) =>
      tokens.ofMessage(transcript([{ id: 'a', name: 'look', input: {}, ...more }])[1]!),
    )
    expect(heavy! - plain!).toBeGreaterThan(900)
  })

  it('A12: it is well-formed, whatever it is called', async () => {
    const message = {
      ...big(1),
      reasoning: 'a\ud83d',
      extra_content: JSON.parse('{"__proto__":{"x":"\ud83d"}}') as JsonObject,
    }
    const [, said, call] = bothWays(message, 'tool_calls')[1]!
    const { reply } = await ask(said, { call })
    const kept = JSON.stringify(reply?.toolCalls[0]?.opaque)
    expect(kept).toContain('a\ufffd')
    expect(kept).toContain('"__proto__"')
    expect(kept.isWellFormed() && !/\\ud[89a-f]/i.test(kept)).toBe(true)
  })
})

it('a final answer keeps nothing of it', async () => {
  const { reply } = await ask({ body: whole({ content: 'ok', reasoning_content: 'I think' }) })
  expect(JSON.stringify(reply)).not.toContain('I think')
})
