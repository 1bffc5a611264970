import { describe, expect, it } from 'vitest'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'

const png = 'data:image/png;base64,AAAA'
const jpg = 'data:image/jpeg;base64,BBBB'

type Json = Readonly<Record<string, unknown>>

const ask = async (path: string, json: Json) => {
  const fake = createFakeApp()
  const response = await fake.send(path, { json })
  if (response.status !== 200) return { status: response.status, error: await errorOf(response) }
  return { status: 200, ...fake.submitted() }
}
const chat = (...messages: readonly Json[]) =>
  ask('/v1/chat/completions', { model: 'orchestrator', messages })
const responses = (...input: readonly Json[]) =>
  ask('/v1/responses', { model: 'orchestrator', store: false, input })

const hi = { role: 'user', content: 'Hi' }
const calls = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: `f_${id}`, arguments: '{}' },
  })),
})

/** The same list for the other API: calls and outputs are items of their own there. */
const toItems = (messages: readonly Json[]): readonly Json[] =>
  messages.flatMap((message): readonly Json[] => {
    const { tool_calls: made, content, role } = message
    if (role === 'tool')
      return [{ type: 'function_call_output', call_id: message['tool_call_id'], output: content }]
    const list = (made ?? []) as readonly { id: string; function: Json }[]
    const { tool_calls: _made, ...said } = message
    return [
      ...(content === null && list.length > 0 ? [] : [said]),
      ...list.map(({ id, function: called }) => ({
        type: 'function_call',
        call_id: id,
        ...called,
      })),
    ]
  })

describe('A 05: both APIs take the same conversations', () => {
  const remind = (role: string) => ({ role, content: 'Answer in French.' })
  const output = (id: string, content: unknown = 'x') => ({
    role: 'tool',
    tool_call_id: id,
    content,
  })
  const taken: Readonly<Record<string, readonly Json[]>> = {
    'a reminder behind the question (system)': [hi, remind('system')],
    'a reminder behind the question (developer)': [hi, remind('developer')],
    'two reminders behind the question': [hi, remind('system'), remind('developer')],
    'a reminder behind an output': [hi, calls('a'), output('a'), remind('system')],
    'a reminder between two questions': [hi, remind('developer'), hi],
    'a reminder before everything': [remind('system'), hi],
    'a reminder between a call and its output': [hi, calls('a'), remind('system'), output('a')],
    'an output last': [hi, calls('a'), output('a')],
    'outputs in another order': [hi, calls('a', 'b'), output('b'), output('a')],
    'an output that is empty': [hi, calls('a'), output('a', '')],
    'an output that is null': [hi, calls('a'), output('a', null)],
    'an empty question before another': [{ role: 'user', content: '' }, hi],
    'an answer that is empty': [hi, { role: 'assistant', content: '' }, hi],
    'an answer that is null': [hi, { role: 'assistant', content: null }, hi],
    'an empty reminder': [remind('system'), { role: 'system', content: '' }, hi],
    'two answers': [
      hi,
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'b' },
      hi,
    ],
    'two questions': [hi, hi],
  }
  it.each(Object.keys(taken))('%s is taken by both, and is the same', async (what) => {
    const messages = taken[what]!
    const [one, other] = [await chat(...messages), await responses(...toItems(messages))]
    expect([one.status, other.status]).toEqual([200, 200])
    const [said, also] = [one, other].map((each) => {
      const { messages: all, clientInstructions } = each as {
        readonly messages?: unknown
        readonly clientInstructions?: unknown
      }
      return { all, clientInstructions }
    })
    expect(said).toEqual(also)
  })

  const refused: Readonly<Record<string, readonly Json[]>> = {
    'an answer last': [hi, { role: 'assistant', content: 'x' }],
    'an answer and a reminder': [hi, { role: 'assistant', content: 'x' }, remind('system')],
    'a call without its output': [hi, calls('a')],
    'a call, and a reminder for its output': [hi, calls('a'), remind('developer')],
    'a question where an output belongs': [hi, calls('a'), hi],
    'one output of two': [hi, calls('a', 'b'), output('b')],
    'an output of no call': [hi, output('a')],
    'a second output': [hi, calls('a'), output('a'), output('a')],
    'a reminder alone': [remind('system')],
    'an empty question last': [hi, { role: 'user', content: '' }],
    'an empty question before a reminder': [{ role: 'user', content: '' }, remind('system')],
    'a question that is null': [{ role: 'user', content: null }],
    'a question of no parts': [{ role: 'user', content: [] }],
    'a reminder that is null': [{ role: 'system', content: null }, hi],
    'a reminder of no parts': [{ role: 'developer', content: [] }, hi],
    'another role': [{ role: 'robot', content: 'x' }, hi],
    'a role that is null': [{ role: null, content: 'x' }, hi],
  }
  it.each(Object.keys(refused))('%s is refused by both', async (what) => {
    const messages = refused[what]!
    const [one, other] = [await chat(...messages), await responses(...toItems(messages))]
    expect([one.status, other.status]).toEqual([400, 400])
  })
})

describe('A 01: arguments of a call that were nothing', () => {
  const history = (text: string) => [
    hi,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'now', arguments: text } }],
    },
    { role: 'tool', tool_call_id: 'a', content: '12:00' },
    hi,
  ]
  const inputs = async (text: string) => {
    const both = [await chat(...history(text)), await responses(...toItems(history(text)))]
    return both.map((one) => {
      const { messages = [] } = one as { readonly messages?: readonly Json[] }
      return Object(Object(messages[1])['toolCalls'])[0]?.input
    })
  }
  it.each(['', ' ', '\n\t', 'null', '{}', ' {} ', '```json\n{}\n```', '"{}"'])(
    '%j is an empty object',
    async (text) => {
      expect(await inputs(text)).toEqual([{}, {}])
    },
  )

  it.each([
    ['{"a":1}', { a: 1 }],
    ['"{\\"a\\":1}"', { a: 1 }],
    ['[1]', { '': '[1]' }],
    ['half {', { '': 'half {' }],
    [String.raw`{"a\ud83d":"\ud83d"}`, { 'a\ufffd': '\ufffd' }],
    ['['.repeat(5_000), { '': '['.repeat(5_000) }],
  ])('text %# is what it is', async (text, input) => {
    expect(await inputs(text)).toEqual([input, input])
  })
})

describe('A 03: parts of a message keep their order and their detail', () => {
  const chatParts = [
    { type: 'text', text: 'BEFORE' },
    { type: 'image_url', image_url: { url: png, detail: 'low' } },
    { type: 'text', text: 'AFTER' },
    { type: 'image_url', image_url: { url: jpg, detail: 'high' } },
  ]
  const items = [
    { type: 'input_text', text: 'BEFORE' },
    { type: 'input_image', image_url: png, detail: 'low' },
    { type: 'input_text', text: 'AFTER' },
    { type: 'input_image', image_url: jpg, detail: 'high' },
  ]
  const kept = {
    text: 'BEFORE\nAFTER',
    images: [
      { url: png, detail: 'low', offset: 6 },
      { url: jpg, detail: 'high' },
    ],
  }
  it('on both APIs', async () => {
    expect(await chat({ role: 'user', content: chatParts })).toMatchObject({ messages: [kept] })
    expect(await responses({ role: 'user', content: items })).toMatchObject({ messages: [kept] })
  })

  it.each([
    [[0, 1, 2], 'IMAGE first', [png, 'x', jpg]],
    [[0, 1], 'no text at all', [png, jpg]],
    [[0], 'one after two texts', ['x', 'y', png]],
    [[0], 'between empty texts', ['', png, '']],
  ])('%j: %s', async (_which, _what, parts) => {
    const isImage = (part: string) => part.startsWith('data:')
    const one = await chat({
      role: 'user',
      content: parts.map((part) =>
        isImage(part)
          ? { type: 'image_url', image_url: { url: part, detail: null } }
          : { type: 'text', text: part },
      ),
    })
    const other = await responses({
      role: 'user',
      content: parts.map((part) =>
        isImage(part)
          ? { type: 'input_image', image_url: part, detail: null }
          : { type: 'input_text', text: part },
      ),
    })
    const messagesOf = (answer: object) => Reflect.get(answer, 'messages') as readonly Json[]
    expect(messagesOf(one)).toEqual(messagesOf(other))
    const [message] = messagesOf(one)
    expect(message?.['images']).toHaveLength(parts.filter(isImage).length)
  })

  it('names a detail that no service knows', async () => {
    const image_url = { url: png, detail: 'huge' }
    expect(await chat({ role: 'user', content: [{ type: 'image_url', image_url }] })).toMatchObject(
      {
        status: 400,
        error: { param: 'messages[0].content[0].image_url.detail' },
      },
    )
    const image = { type: 'input_image', image_url: png, detail: 'huge' }
    expect(await responses({ role: 'user', content: [image] })).toMatchObject({
      status: 400,
      error: { param: 'input[0].content[0].detail' },
    })
  })
})

describe('A 04: who of several speakers said it', () => {
  it('is kept of users and assistants, and written before what a developer says', async () => {
    const messages = [
      { role: 'system', name: 'example_user', content: 'A riddle.' },
      { role: 'user', name: 'Adam', content: 'I am from Seattle.' },
      { role: 'assistant', name: 'Guide', content: 'Welcome.' },
      { role: 'user', name: 'Søren Å.', content: 'I am from Tacoma.' },
      { role: 'user', name: null, content: 'And I?' },
      { role: 'user', name: '', content: 'Where is Sam from?' },
    ]
    for (const answer of [await chat(...messages), await responses(...messages)]) {
      expect(answer).toMatchObject({
        clientInstructions: 'example_user: A riddle.',
        messages: [
          { role: 'user', name: 'Adam', text: 'I am from Seattle.' },
          { role: 'assistant', name: 'Guide', text: 'Welcome.' },
          { role: 'user', name: 'Søren Å.' },
          { role: 'user', text: 'And I?' },
          { role: 'user', text: 'Where is Sam from?' },
        ],
      })
      const { messages: kept = [] } = answer as { readonly messages?: readonly Json[] }
      expect(kept.slice(3).map((one) => 'name' in one)).toEqual([false, false])
    }
  })

  it('may stand in a tool message, where it is that of the function', async () => {
    const tool = { role: 'tool', tool_call_id: 'a', name: 'f_a', content: 'x' }
    expect(await chat(hi, calls('a'), tool)).toMatchObject({
      messages: [{}, {}, { role: 'tool', name: 'f_a', output: 'x' }],
    })
  })

  it.each([1, {}, 'x'.repeat(201)])('that is none is refused by its field (%#)', async (name) => {
    const said = { ...hi, name }
    expect(await chat(said)).toMatchObject({ status: 400, error: { param: 'messages[0].name' } })
    expect(await responses(said)).toMatchObject({ status: 400, error: { param: 'input[0].name' } })
  })
})

describe('A 02: a picture that is no part of what a user says', () => {
  const call = (id: string) => ({
    type: 'function_call',
    call_id: id,
    name: 'view',
    arguments: '{}',
  })
  const given = (id: string, ...output: readonly Json[]) => ({
    type: 'function_call_output',
    call_id: id,
    output,
  })
  const image = (url = png) => ({ type: 'input_image', image_url: url, detail: 'high' })
  const text = (said: string) => ({ type: 'input_text', text: said })

  it('that a tool gave comes behind its output, and the text says so', async () => {
    expect(await responses(hi, call('a'), given('a', image()))).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant' },
        { role: 'tool', callId: 'a', output: '[Image 1: see the message below]' },
        {
          role: 'user',
          text: 'Images of the output of view (call a):',
          images: [{ url: png, detail: 'high' }],
          taint: ['user', 'tool:view'],
        },
      ],
    })
  })

  it('keeps its place between the texts of the output', async () => {
    expect(
      await responses(hi, call('a'), given('a', text('one'), image(), text('two'), image(jpg))),
    ).toMatchObject({
      messages: [
        {},
        {},
        {
          output: 'one\n[Image 1: see the message below]\ntwo\n[Image 2: see the message below]',
        },
        { role: 'user', images: [{ url: png }, { url: jpg }] },
      ],
    })
  })

  it('waits until every call that was made together has its output', async () => {
    const answer = await responses(
      hi,
      call('a'),
      call('b'),
      given('a', image()),
      given('b', image(jpg)),
      { role: 'user', content: 'Which is better?' },
    )
    const { messages = [] } = answer as { readonly messages?: readonly Json[] }
    expect(
      messages.map(({ role, images, text: said }) => [role, images ? 'images' : said]),
    ).toEqual([
      ['user', 'Hi'],
      ['assistant', ''],
      ['tool', undefined],
      ['tool', undefined],
      ['user', 'images'],
      ['user', 'images'],
      ['user', 'Which is better?'],
    ])
  })

  it('is taken in a tool message of a chat likewise', async () => {
    const content = [
      { type: 'text', text: 'here' },
      { type: 'image_url', image_url: { url: png } },
    ]
    expect(await chat(hi, calls('a'), { role: 'tool', tool_call_id: 'a', content })).toMatchObject({
      messages: [
        {},
        {},
        { output: 'here\n[Image 1: see the message below]' },
        { role: 'user', images: [{ url: png }] },
      ],
    })
  })

  it('by its address, from a tool, is labelled as what a stranger put there', async () => {
    const answer = await responses(hi, call('a'), given('a', image('https://a.example/b.png')))
    expect(answer).toMatchObject({
      messages: [{}, {}, {}, { label: { integrity: 'stranger' } }],
    })
  })

  it.each(['assistant', 'system', 'developer'])(
    'is refused by name in a message of role %s',
    async (role) => {
      const content = [{ type: 'input_text', text: 'like this:' }, image()]
      expect(await responses({ role, content }, hi)).toMatchObject({
        status: 400,
        error: {
          param: 'input[0].content[1].image_url',
          message: expect.stringContaining(`not taken in a message of role ${role}`),
        },
      })
      const parts = [
        { type: 'text', text: 'like this:' },
        { type: 'image_url', image_url: { url: png } },
      ]
      expect(await chat({ role, content: parts }, hi)).toMatchObject({
        status: 400,
        error: { param: 'messages[0].content[1].type' },
      })
    },
  )

  it.each([
    [{ type: 'input_file', file_id: 'file_1' }, 'input[2].output[0].type'],
    [{ type: 'input_image', file_id: 'file_1' }, 'input[2].output[0].type'],
    [{ type: 'input_audio', data: '' }, 'input[2].output[0].type'],
    [{ type: 'input_image', image_url: 'file:///etc/passwd' }, 'input[2].output[0].image_url'],
    [{ type: 'input_text' }, 'input[2].output[0].type'],
  ])('%j in an output is refused by its field', async (part, param) => {
    expect(await responses(hi, call('a'), given('a', part))).toMatchObject({
      status: 400,
      error: { param },
    })
  })
})

describe('A 12: half of a surrogate pair in a body', () => {
  const half = String.raw`\ud83d`
  const sendText = async (path: string, body: string) => {
    const fake = createFakeApp()
    const headers = { 'content-type': 'application/json' }
    const response = await fake.send(path, { method: 'POST', body, headers })
    const { status } = response
    return {
      status,
      said: status === 200 ? JSON.stringify(fake.submitted()) : await response.text(),
    }
  }
  it.each([
    [
      '/v1/chat/completions',
      `{"model":"orchestrator","messages":[{"role":"user","content":"a${half}b"}]}`,
    ],
    [
      '/v1/chat/completions',
      `{"model":"orchestrator","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"cut ${half}"},{"role":"user","content":"go on"}]}`,
    ],
    [
      '/v1/chat/completions',
      `{"model":"orchestrator","messages":[{"role":"user","content":[{"type":"text","text":"${half}"}]}]}`,
    ],
    ['/v1/responses', `{"model":"orchestrator","store":false,"input":"a${half}b"}`],
    [
      '/v1/responses',
      `{"model":"orchestrator","store":false,"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\\"q\\":\\"${half.replace('\\', '\\\\')}\\"}"},{"type":"function_call_output","call_id":"a","output":"cut ${half}"}]}`,
    ],
    ['/api/sessions/ses_SSSSSSSSSSSSSSSSSSSSSS/runs', `{"task":"a${half}"}`],
    [
      '/v1/chat/completions',
      `{"model":"orchestrator","x${half}":1,"messages":[{"role":"user","name":"${half}","content":"x"}]}`,
    ],
  ])('%s takes it, well-formed (%#)', async (path, body) => {
    const { status, said } = await sendText(path, body)
    expect([200, 202], said).toContain(status)
    expect(said).not.toMatch(/\\ud[89a-f]/i)
    if (status === 200) expect(said).toContain('\ufffd')
  })

  it('whole pairs stay as they are', async () => {
    const { said } = await sendText(
      '/v1/responses',
      String.raw`{"model":"orchestrator","store":false,"input":"\ud83d\ude00 C:\\ud83d"}`,
    )
    expect(said).toContain('😀 C:\\\\ud83d')
  })
})

describe('19: an item of `input` that is not read', () => {
  const custom = { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '*** Begin' }
  const output = { type: 'custom_tool_call_output', call_id: 'a', output: 'done' }

  it('is none of a custom tool: its call and its output are read', async () => {
    expect(await responses(hi, custom, output)).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant', toolCalls: [{ name: 'patch', input: { input: '*** Begin' } }] },
        { role: 'tool', callId: 'a', output: 'done' },
      ],
    })
    expect(await responses(hi, { ...custom, input: null }, output)).toMatchObject({
      status: 400,
      error: { param: 'input[1].input' },
    })
  })

  it.each([
    'local_shell_call',
    'local_shell_call_output',
    'shell_call_output',
    'apply_patch_call_output',
    'computer_call',
    'computer_call_output',
    'some_call',
  ])('is refused by its name where a model must read it: %s', async (type) => {
    const { status, error } = (await responses({ type, call_id: 'a', output: 'x' }, hi)) as Failed
    expect([status, error.param]).toEqual([400, 'input[0].type'])
    expect(error.message).toContain(type)
  })

  it.each([
    'reasoning',
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'mcp_call',
    'mcp_list_tools',
  ])('is passed over where the answer behind it says it all: %s', async (type) => {
    const { status, messages } = (await responses({ type, id: 'x' }, hi)) as Taken
    expect([status, messages.length]).toEqual([200, 1])
  })
})

interface Failed {
  readonly status: number
  readonly error: { readonly param: string; readonly message: string }
}
interface Taken {
  readonly status: number
  readonly messages: readonly unknown[]
}

describe('20: null is absent', () => {
  const nulls = (...names: readonly string[]) => Object.fromEntries(names.map((one) => [one, null]))
  const ofItem = 'type id call_id name namespace arguments input encrypted_content output status'
  const ofPart = 'text refusal image_url detail annotations file_id'
  const without = (names: string, ...own: readonly string[]) =>
    nulls(...names.split(' ').filter((one) => !own.includes(one)))

  it('in each field of an item, and of its parts', async () => {
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
    const output = { type: 'function_call_output', call_id: 'a', output: 'x' }
    const items = [
      { ...hi, ...without(ofItem) },
      { ...call, ...without(`${ofItem} role content`, ...Object.keys(call)) },
      { ...output, ...without(`${ofItem} role content`, ...Object.keys(output)) },
      {
        role: 'user',
        content: [
          { ...without(ofPart), type: 'input_text', text: 'see' },
          { ...without(ofPart), type: 'input_image', image_url: png },
        ],
      },
    ]
    expect(await responses(...items)).toMatchObject({
      status: 200,
      messages: [
        { text: 'Hi' },
        { toolCalls: [{ name: 'f' }] },
        { output: 'x' },
        { text: 'see', images: [{ url: png }] },
      ],
    })
  })

  it('in each field of a message, and of its parts', async () => {
    const ofMessage = 'name tool_calls tool_call_id function_call refusal audio annotations'
    const messages = [
      { ...hi, ...without(ofMessage) },
      { ...without(ofMessage), ...calls('a') },
      { ...without(ofMessage), role: 'tool', tool_call_id: 'a', content: 'x' },
      {
        ...without(ofMessage),
        role: 'user',
        content: [
          { ...without(ofPart), type: 'text', text: 'see' },
          { ...without(ofPart), type: 'image_url', image_url: { url: png, detail: null } },
        ],
      },
    ]
    expect(await chat(...messages)).toMatchObject({
      status: 200,
      messages: [{ text: 'Hi' }, {}, { output: 'x' }, { text: 'see', images: [{ url: png }] }],
    })
  })
})
