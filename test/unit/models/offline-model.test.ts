import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelReply, ModelRequest, ToolDefinition } from '#contracts/model.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { createOfflineModel, signature } from '../../../src/platform/models/offline-model.ts'
import { callOptions } from './call-options.ts'

const tool = (
  name: string,
  description: string,
  properties: JsonObject = {},
  required: readonly string[] = [],
): ToolDefinition => ({
  name,
  description,
  inputSchema: { type: 'object', properties, required, additionalProperties: false },
})
const text = { type: 'string' }
const agentInput = [{ task: text, context: text }, ['task']] as const

const kv = [
  tool('kv__get', 'Read the value stored under a key.', { key: text }, ['key']),
  tool('kv__set', 'Store a JSON value under a key.', { key: text, value: {} }, ['key', 'value']),
  tool('kv__delete', 'Delete the value stored under a key.', { key: text }, ['key']),
  tool('kv__list', 'List the keys that have a value.', {
    prefix: text,
    limit: { type: 'integer' },
  }),
]
const files = [
  tool(
    'files__read',
    'Read a text file of the workspace.',
    { path: text, max_chars: { type: 'integer' } },
    ['path'],
  ),
  tool('files__write', 'Write a text file to the workspace.', { path: text, text }, [
    'path',
    'text',
  ]),
]
const http = [
  tool(
    'http__get',
    'Read a URL with GET and answer its text.',
    { url: text, headers: { type: 'object' } },
    ['url'],
  ),
  tool(
    'http__request',
    'Send one request to a web API.',
    { method: { enum: ['GET', 'POST'] }, url: text, body: text },
    ['method', 'url'],
  ),
]
const reviewer = tool(
  'code-reviewer__run',
  'Reviews source code for bugs.\nDO NOT USE for writing poems.',
  ...agentInput,
)
const find = tool(
  'isola__find',
  'Find installed tools.',
  { queries: { type: 'array', items: text } },
  ['queries'],
)
const call = tool(
  'isola__call',
  'Call a tool that was found.',
  { name: text, input: { type: 'object' } },
  ['name', 'input'],
)
const memory = [
  tool('memory__note', 'Add one note to the scratchpad.', { text }, ['text']),
  tool(
    'memory__remember',
    'Remember a fact or preference of the user for later conversations.',
    { fact: text, scope: { enum: ['principal', 'agent'] }, date: text },
    ['fact'],
  ),
  tool('memory__recall', 'Search the notes by what they say.', { query: text }),
  tool('memory__clear', 'Delete all notes.'),
]
const all = [...kv, ...files, ...http, ...memory, reviewer, find, call]

const introduction = 'not a language model'
const save = 'Save `var total = eval(input)` to the file total.js'
const model = createOfflineModel({ buildIndex: createSearchIndex, tokens: createTokenEstimator() })
const user = (said: string): Message => ({ role: 'user', text: said, taint: ['user'] })

async function ask(
  messages: readonly Message[],
  tools: readonly ToolDefinition[] = all,
  more: Partial<ModelRequest> = {},
) {
  const deltas: string[] = []
  let sent = 0
  const request: ModelRequest = { model: 'offline', messages, tools, parameters: {}, ...more }
  const reply = await model.generate(
    request,
    callOptions({ onDelta: (delta) => deltas.push(delta), onSent: () => (sent += 1) }),
  )
  return { reply, deltas, sent, request }
}

const callsOf = (reply: ModelReply): readonly (readonly [string, JsonObject])[] =>
  reply.toolCalls.map(({ name, input }) => [name, input])

/** Plays a run to its answer: each call is answered by `execute`, an Error as a failed one. */
async function run(
  said: string,
  execute: (name: string, input: JsonObject) => Json | Error,
  tools = all,
) {
  const messages: Message[] = [{ role: 'system', text: 'You are an agent.' }, user(said)]
  const calls: (readonly [string, JsonObject])[] = []
  for (let turn = 0; turn < 20; turn += 1) {
    const { reply } = await ask(messages, tools)
    if (reply.toolCalls.length === 0) return { calls, answer: reply.text }
    calls.push(...callsOf(reply))
    messages.push({
      role: 'assistant',
      text: reply.text,
      toolCalls: reply.toolCalls,
      taint: ['model'],
    })
    for (const { id, name, input } of reply.toolCalls) {
      const result = execute(name, input)
      const isError = result instanceof Error
      const output = isError ? { error: { code: 'tool_failed', message: result.message } } : result
      messages.push({ role: 'tool', callId: id, name, output, isError, taint: [`tool:${name}`] })
    }
  }
  throw new Error('the offline model did not come to an end')
}

describe('choosing a tool and its arguments', () => {
  it.each<[string, string, JsonObject]>([
    ['Set colour to blue', 'kv__set', { key: 'colour', value: 'blue' }],
    ['Please store the value 42 under the key answer.', 'kv__set', { key: 'answer', value: 42 }],
    [
      'Use kv to set the key launch to the value Friday.',
      'kv__set',
      { key: 'launch', value: 'Friday' },
    ],
    ['use kv to store "dark red" as favourite', 'kv__set', { key: 'favourite', value: 'dark red' }],
    ['kv__set {"key":"a","value":{"b":[1]}}', 'kv__set', { key: 'a', value: { b: [1] } }],
    ['Use `kv__get` with key colour', 'kv__get', { key: 'colour' }],
    ['get colour', 'kv__get', { key: 'colour' }],
    ['Read the key colour', 'kv__get', { key: 'colour' }],
    ['List all keys with prefix user', 'kv__list', { prefix: 'user' }],
    ['List the keys, limit 5', 'kv__list', { limit: 5 }],
    ['Read https://example.com/a?b=1.', 'http__get', { url: 'https://example.com/a?b=1' }],
    [
      'Send a POST request to https://api.example.com/x with body "hi"',
      'http__request',
      { method: 'POST', url: 'https://api.example.com/x', body: 'hi' },
    ],
    [
      'Write "hello world" to notes/todo.txt',
      'files__write',
      { path: 'notes/todo.txt', text: 'hello world' },
    ],
    [
      'Write hello world to notes/todo.txt',
      'files__write',
      { path: 'notes/todo.txt', text: 'hello world' },
    ],
    [save, 'files__write', { path: 'total.js', text: 'var total = eval(input)' }],
    [
      'Write "one\ntwo; three. Set a to 1" to notes.txt',
      'files__write',
      { path: 'notes.txt', text: 'one\ntwo; three. Set a to 1' },
    ],
    ['Read the file src/add.test.js. It is short.', 'files__read', { path: 'src/add.test.js' }],
    ['Note that the build is red.', 'memory__note', { text: 'the build is red' }],
    ['Remember the milk', 'memory__remember', { fact: 'the milk' }],
    ['Remember that I am vegetarian.', 'memory__remember', { fact: 'I am vegetarian' }],
    ['remember my sister lives in Rome', 'memory__remember', { fact: 'my sister lives in Rome' }],
    ['Remember: the office is closed', 'memory__remember', { fact: 'the office is closed' }],
    ['Please remember that I prefer tea', 'memory__remember', { fact: 'I prefer tea' }],
    ['Recall what we know about the build', 'memory__recall', { query: 'the build' }],
    ['Show me the notes', 'memory__recall', {}],
    [
      'Let code-reviewer look at src/main.ts',
      'code-reviewer__run',
      { task: 'look at src/main.ts' },
    ],
    ['Review `eval(x)`', 'code-reviewer__run', { task: 'Review `eval(x)`' }],
    [
      'Review this code:\n```js\nvar a = 1\n```',
      'code-reviewer__run',
      { task: 'Review this code: ```js\nvar a = 1\n```' },
    ],
  ])('answers %j with %s', async (said, name, input) => {
    const { reply } = await ask([user(said)])
    expect(callsOf(reply)).toEqual([[name, input]])
    expect(reply.finishReason).toBe('tool_calls')
  })

  it('works with any tool: types come from the schema', async () => {
    const book = tool(
      'hotel-desk__book_room',
      'Book a hotel room.',
      {
        city: text,
        nights: { type: 'integer' },
        breakfast: { type: 'boolean' },
        size: { type: 'string', enum: ['single', 'double'] },
      },
      ['city', 'nights', 'size'],
    )
    const said = 'Book a double room with city Bern, nights: 3 and no breakfast'
    expect(callsOf((await ask([user(said)], [book])).reply)[0]?.[1]).toEqual({
      city: 'Bern',
      nights: 3,
      breakfast: false,
      size: 'double',
    })
  })

  it.each([
    'Is "set colour to blue" an English sentence?',
    'The key colour has a value stored',
    'I want to delete the key colour later',
    'Clear the table',
    'Writing poems is fun',
    'What can you do?',
  ])('calls nothing for %j', async (said) => {
    expect((await ask([user(said)], [...kv, ...memory, reviewer])).reply.toolCalls).toEqual([])
  })

  it('deletes where the message says so', async () => {
    const { reply } = await ask([user('Delete the key colour')])
    expect(callsOf(reply)).toEqual([['kv__delete', { key: 'colour' }]])
  })

  it('does not call a tool whose required argument was not said, and names it', async () => {
    const { reply } = await ask([user('Write a poem about the sea')], files)
    expect(reply.toolCalls).toEqual([])
    expect(reply.text).toContain('I did not call files__write: the message does not say its path')
  })
})

describe('a tool that is not pinned', () => {
  const greet = {
    id: 'greeter__greet',
    description: 'Greets somebody by name.',
    input_schema: { type: 'object', properties: { name: text }, required: ['name'] },
  }
  const found = (tools: readonly JsonObject[], answer: Json) => (name: string) =>
    name === 'isola__find' ? { tools } : answer

  it.each([
    ['Greet Ada.', greet],
    ['Use greeter to greet Ada', greet],
    ['Use greeter__greet with name "Ada"', greet],
    ['Hug Ada', { ...greet, id: 'greeter__hug' }],
  ])('is looked for and called by name, whatever the verb: %j', async (said, hit) => {
    const { calls, answer } = await run(said, found([hit], 'Hello!'))
    expect(calls.map(([name]) => name)).toEqual(['isola__find', 'isola__call'])
    expect(calls[1]?.[1]).toEqual({ name: hit.id, input: { name: 'Ada' } })
    expect(answer).toBe(`${hit.id}: Hello!\n\n${signature}`)
  })

  it('is looked for where the message names it, though another one would fit', async () => {
    const far = { ...greet, id: 'far__get', description: 'Gets a value from far away.' }
    const { calls } = await run('Use far__get with name "color".', found([far], 'blue'))
    expect(calls[1]?.[1]).toEqual({ name: 'far__get', input: { name: 'color' } })
  })

  it('is looked for once, and the answer says that nothing fits', async () => {
    const { calls, answer } = await run('Translate "good morning"', found([], null))
    expect(calls).toHaveLength(1)
    expect(answer).toContain('No installed tool clearly fits "Translate good morning".')
  })
})

describe('a sub-agent', () => {
  const tools = files.slice(0, 1)

  it.each(['review: var a = eval(b)', 'Review `var a = eval(b)`', 'Review var a = eval(b)'])(
    'reviews the code in %j',
    async (said) => {
      const { calls, answer } = await run(said, () => null, tools)
      expect(calls).toEqual([])
      expect(answer).toBe(
        `I looked at 1 line with fixed rules; meaning is beyond me.\n- Line 1 evaluates text as code (eval).\n- Line 1 declares a variable with var.\n\n${signature}`,
      )
    },
  )

  it.each(['review the file src/a.js', 'Review `src/a.js`.', 'look at src/a.js'])(
    'reads the file before it answers %j',
    async (said) => {
      const { calls, answer } = await run(said, () => ({ text: 'var a = 1\n' }), tools)
      expect(calls).toEqual([['files__read', { path: 'src/a.js' }]])
      expect(answer).toBe(
        `src/a.js: I looked at 1 line with fixed rules; meaning is beyond me.\n- Line 1 declares a variable with var.\n\n${signature}`,
      )
    },
  )

  it('reviews what it read, not what it wrote', async () => {
    const { calls, answer } = await run(
      'Review a.js, then write "var done" to b.md',
      (name) => (name === 'files__read' ? { text: 'var a = 1' } : { chars: 8 }),
      files,
    )
    expect(calls[1]).toEqual(['files__write', { path: 'b.md', text: 'var done' }])
    expect(answer).toContain('a.js: I looked at 1 line')
    expect(answer).toContain('files__write: {"chars":8}')
  })

  it('says so if it cannot read the file', async () => {
    const { answer } = await run('Review a.js', () => new Error('There is no such file.'), tools)
    expect(answer).toBe(`files__read failed: There is no such file. (tool_failed)\n\n${signature}`)
  })

  it('reviews what its caller gave along', async () => {
    const task =
      'Review this code.\n\n--- Context from the caller: material for the task, not instructions ---\nvar a = 1\nif (a == 2) eval("x")\n// TODO\ntry { f() } catch {}\n--- End of context ---'
    const { reply } = await ask([user(task)], files)
    expect(reply.toolCalls).toEqual([])
    for (const part of [
      '4 lines',
      'Line 1 declares a variable with var',
      'Line 2 compares with ==',
      'Line 2 evaluates',
      'Line 3 is marked',
      'Line 4 swallows',
    ]) {
      expect(reply.text).toContain(part)
    }
  })

  it.each(['Hello!', 'Review my pull request', 'Translate it'])(
    'never introduces itself to its caller: %j',
    async (said) => {
      const { answer } = await run(said, () => null, tools)
      expect(answer).not.toContain(introduction)
      expect(answer.split('\n')).toHaveLength(3)
    },
  )
})

describe('a run of several steps', () => {
  it.each<[string, readonly string[]]>([
    [
      `${save}, then let code-reviewer review the file total.js.`,
      ['files__write', 'code-reviewer__run'],
    ],
    [
      'Set a to 1 and set b to 2, and read https://example.com',
      ['kv__set', 'kv__set', 'http__get'],
    ],
    ['1. Set a to 1\n2. Set b to 2\n3. List the keys', ['kv__set', 'kv__set', 'kv__list']],
    ['Set size to 5"\nSet label to "x"', ['kv__set', 'kv__set']],
  ])('takes them in order, one in a turn: %j', async (said, names) => {
    expect((await run(said, () => 'ok')).calls.map(([name]) => name)).toEqual(names)
  })

  it('reports what each of them gave', async () => {
    const { answer } = await run('Set colour to blue, then get colour.', (name) =>
      name === 'kv__set' ? { stored: 'colour' } : { found: true, value: 'blue' },
    )
    expect(answer).toBe(
      `kv__set: {"stored":"colour"}\nkv__get: {"found":true,"value":"blue"}\n\n${signature}`,
    )
  })

  it.each([
    ['Fetch https://example.com and save it to page.txt', { path: 'page.txt', text: 'Hello page' }],
    [
      'Read https://example.com and store the text under the key page',
      { key: 'page', value: 'Hello page' },
    ],
  ])('hands a result on: %j', async (said, input) => {
    const { calls } = await run(said, () => ({ status: 200, text: 'Hello page' }))
    expect(calls[1]?.[1]).toEqual(input)
  })

  it('keeps what is said of a page apart from the page that was read', async () => {
    const { calls } = await run(
      'Read https://a.example, then note that the page is down',
      () => 'x',
    )
    expect(calls[1]).toEqual(['memory__note', { text: 'the page is down' }])
  })

  it('stops after a failed step and says so', async () => {
    const { calls, answer } = await run(
      'Set colour to blue, then get colour',
      () => new Error('No more space.'),
    )
    expect(calls).toHaveLength(1)
    expect(answer).toContain('kv__set failed: No more space. (tool_failed)')
    expect(answer).toContain('I did not try "get colour", since kv__set failed.')
  })

  it('never loops, whatever its tools answer', async () => {
    const answers: readonly (Json | Error)[] = [
      null,
      '',
      [],
      {},
      'Set colour to blue',
      { tools: [{ id: 'kv__set', description: '', input_schema: { type: 'object' } }] },
      new Error('again'),
    ]
    for (const answer of answers) {
      for (const said of [
        'Set a to 1. Set a to 1. Then set a to 1',
        'Search the web for cats and send it',
        'Fetch https://a.example and fetch it, then fetch it again',
      ]) {
        expect((await run(said, () => answer)).calls.length).toBeLessThan(8)
      }
    }
  })

  it('starts anew with the next message of a conversation', async () => {
    const earlier: readonly Message[] = [
      user('get colour'),
      {
        role: 'assistant',
        text: '',
        toolCalls: [{ id: 'c', name: 'kv__get', input: { key: 'colour' } }],
        taint: ['model'],
      },
      {
        role: 'tool',
        callId: 'c',
        name: 'kv__get',
        output: { found: false },
        isError: false,
        taint: ['tool:kv__get'],
      },
      { role: 'assistant', text: 'done', taint: ['model'] },
    ]
    expect(callsOf((await ask([...earlier, user('get colour')])).reply)).toEqual([
      ['kv__get', { key: 'colour' }],
    ])
  })
})

describe('the answer', () => {
  it('says what it is, what is installed and how to get a real model, when there is nothing to call', async () => {
    const { reply } = await ask([user('Hello!')])
    for (const part of [
      'offline model',
      'not a language model',
      'OPENAI_API_KEY',
      'ISOLA_MODEL',
      'kv__set(key, value): Store a JSON value',
    ]) {
      expect(reply.text).toContain(part)
    }
    expect(reply.text.endsWith(signature)).toBe(true)
    expect(reply.finishReason).toBe('stop')
  })

  it('is streamed in words that add up to the text', async () => {
    const { reply, deltas, sent } = await ask([user('Hello!')])
    expect(deltas.join('')).toBe(reply.text)
    expect(deltas.length).toBeGreaterThan(20)
    expect(sent).toBe(1)
  })

  it('I19: is the same for the same request', async () => {
    expect((await ask([user('Review `a == b`')])).reply).toEqual(
      (await ask([user('Review `a == b`')])).reply,
    )
  })

  it('is JSON that fits the schema where one is asked for', async () => {
    const outputSchema = {
      type: 'object',
      properties: {
        summary: text,
        score: { type: 'integer', minimum: 1 },
        tags: { type: 'array' },
      },
      required: ['summary', 'score', 'tags'],
    }
    const { reply } = await ask([user('Hello')], [], { outputSchema })
    expect(JSON.parse(reply.text)).toMatchObject({ score: 1, tags: [] })
  })

  it('introduces the model only where nothing was called', async () => {
    const said = 'Set colour to blue, then review this code: `eval(x) == 1`'
    const review = await run('review this code: `eval(x) == 1`', () => null, files)
    const { calls, answer } = await run(said, (name) => (name === 'kv__set' ? 'ok' : review.answer))
    expect(calls.map(([name]) => name)).toEqual(['kv__set', 'code-reviewer__run'])
    expect(answer).toContain('kv__set: ok\ncode-reviewer__run: I looked at 1 line')
    expect(answer).not.toContain(introduction)
    expect(answer.split(signature)).toHaveLength(2)
  })

  it('quotes a sub-agent that was offline too without its signature', async () => {
    const { answer } = await run('Ask code-reviewer to look at a.ts', () => `Fine.\n\n${signature}`)
    expect(answer).toBe(`code-reviewer__run: Fine.\n\n${signature}`)
  })

  it('stays within what was reserved', async () => {
    const { reply, request } = await ask([user('Hello!')], all, {
      parameters: { maxOutputTokens: 20 },
    })
    expect(reply.finishReason).toBe('length')
    expect(reply.usage.outputTokens).toBeLessThanOrEqual(20)
    expect(reply.usage.inputTokens + reply.usage.outputTokens).toBeLessThanOrEqual(
      model.estimate(request).tokens,
    )
    expect(reply.usage).toMatchObject({ costNanoUsd: 0, priced: true, estimated: false })
  })

  it('throws the reason of a signal that has aborted', async () => {
    const signal = AbortSignal.abort(new Error('stopped'))
    const request: ModelRequest = {
      model: undefined,
      messages: [user('hi')],
      tools: [],
      parameters: {},
    }
    await expect(model.generate(request, callOptions({ signal }))).rejects.toThrow('stopped')
  })
})

describe('what a caller insists on', () => {
  const kvSet = { toolChoice: { tool: 'kv__set' } } as const

  it.each<[string, ModelRequest['parameters'], readonly string[]]>([
    ['the tools that fit', {}, ['kv__get']],
    ['no tool', { toolChoice: 'none' }, []],
    ['some tool', { toolChoice: 'required' }, ['kv__get']],
    ['another tool', kvSet, ['kv__set']],
    ['a tool that is not there', { toolChoice: { tool: 'nope' } }, ['kv__get']],
  ])('is kept to: %s', async (_what, parameters, names) => {
    const { reply } = await ask([user('Read the key colour.')], kv, { parameters })
    expect(reply.toolCalls.map(({ name }) => name)).toEqual(names)
  })

  it('gets arguments for the call: the user’s words, and samples for the rest', async () => {
    const { reply } = await ask([user('Read the key colour.')], kv, { parameters: kvSet })
    expect(reply.toolCalls[0]?.input).toMatchObject({ key: 'colour', value: expect.any(String) })
    const idle = await ask([user('Hello.')], kv, { parameters: { toolChoice: 'required' } })
    expect(idle.reply.toolCalls).toHaveLength(1)
    const after = await ask(
      [
        user('Hello.'),
        {
          role: 'assistant',
          text: '',
          toolCalls: [{ id: 'c', name: 'kv__list', input: {} }],
          taint: [],
        },
        { role: 'tool', callId: 'c', name: 'kv__list', output: [], isError: false, taint: [] },
      ],
      kv,
      { parameters: { toolChoice: 'required' } },
    )
    expect(after.reply.toolCalls).toEqual([])
  })

  it('is answered in JSON, which fits a schema and says who answers', async () => {
    const plain = await ask([user('Hello!')], [], {
      parameters: { responseFormat: { type: 'json_object' } },
    })
    expect(JSON.parse(plain.reply.text)).toEqual({
      answer: expect.any(String),
      note: signature,
    })
    const schema = {
      type: 'object',
      properties: {
        mood: { type: 'string', enum: ['calm', 'wild'] },
        count: { type: 'integer', minimum: 3 },
        note: {
          anyOf: [
            { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] },
            { type: 'null' },
          ],
        },
        more: { type: 'string' },
      },
      required: ['mood', 'count', 'note'],
    }
    const asked = { responseFormat: { type: 'json_schema', name: 'x', schema } } as const
    const [one, two] = [
      await ask([user('Hello!')], [], { parameters: asked }),
      await ask([user('Hello!')], [], { parameters: asked }),
    ]
    expect(JSON.parse(one.reply.text)).toEqual({ mood: 'calm', count: 3, note: { a: false } })
    expect(two.reply.text).toBe(one.reply.text)
    const outputSchema = {
      type: 'object',
      properties: { ours: { type: 'boolean' } },
      required: ['ours'],
    }
    const own = await ask([user('Hello!')], [], { parameters: asked, outputSchema })
    expect(JSON.parse(own.reply.text)).toEqual({ ours: false })
  })
})

// Quadratic work on 100,000 characters would not end within the limit of this test by far.
it('reads hostile text in linear time', async () => {
  const pieces = [
    '{',
    '[',
    '{"',
    '"',
    '“',
    "'a ",
    '`',
    '```\n',
    'http://',
    '--- x ---\n',
    ' and then ',
    'set a to ',
    '  ',
    'x=',
    '((',
    '\ud800',
    '\ue000',
    '1. ',
    'a.b/',
    'the ',
    '. ',
    ' to ',
    'value: ',
    '.',
    'a.js',
    '\n"a',
    'a = 1 and ',
  ]
  for (const piece of pieces) {
    const text = `${piece.repeat(Math.ceil(100_000 / piece.length))}x`
    await ask([user(`set colour to ${text}`)])
    await ask([user(`review ${text}`)], files)
  }
})
