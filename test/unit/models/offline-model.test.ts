import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelReply, ModelRequest, ToolDefinition } from '#contracts/model.ts'
import { createSearchIndex } from '../../../src/catalog/search/search-index.ts'
import { createTokenEstimator } from '../../../src/models/estimate.ts'
import { createOfflineModel } from '../../../src/models/offline-model.ts'
import { signature } from '../../../src/models/offline/answer.ts'
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
const all = [...kv, ...files, ...http, reviewer, find, call]

const introduction = 'not a language model'
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
  const turns: (readonly (readonly [string, JsonObject])[])[] = []
  for (let turn = 0; turn < 20; turn += 1) {
    const { reply } = await ask(messages, tools)
    if (reply.toolCalls.length === 0) return { turns, answer: reply.text }
    turns.push(callsOf(reply))
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
    ['use kv to store "dark red" as favourite', 'kv__set', { key: 'favourite', value: 'dark red' }],
    ['key=colour value=blue set it in kv', 'kv__set', { key: 'colour', value: 'blue' }],
    ['kv set colour blue', 'kv__set', { key: 'colour', value: 'blue' }],
    ['kv__set {"key":"a","value":{"b":[1]}}', 'kv__set', { key: 'a', value: { b: [1] } }],
    ['Use `kv__get` with key colour', 'kv__get', { key: 'colour' }],
    ['get colour', 'kv__get', { key: 'colour' }],
    ['What is the value of colour?', 'kv__get', { key: 'colour' }],
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
      'Write `const value = stored[key]` to src/add.js.',
      'files__write',
      { path: 'src/add.js', text: 'const value = stored[key]' },
    ],
    ['Put `all: build` into bin/make', 'files__write', { path: 'bin/make', text: 'all: build' }],
    ['Save the value 5 as count', 'kv__set', { key: 'count', value: 5 }],
    [
      'Write "one\ntwo; three. Set a to 1" to notes.txt',
      'files__write',
      { path: 'notes.txt', text: 'one\ntwo; three. Set a to 1' },
    ],
    ['Read notes.txt', 'files__read', { path: 'notes.txt' }],
    ['Read the file src/add.test.js. It is short.', 'files__read', { path: 'src/add.test.js' }],
    [
      'Write "x" to src/add.js. It is only a draft.',
      'files__write',
      { path: 'src/add.js', text: 'x' },
    ],
    [
      'Ask the code reviewer to look at src/main.ts',
      'code-reviewer__run',
      { task: 'look at src/main.ts' },
    ],
    [
      'Review this code:\n```js\nvar a = 1\n```',
      'code-reviewer__run',
      { task: 'Review this code.', context: 'var a = 1' },
    ],
  ])('answers %j with %s', async (said, name, input) => {
    const { reply } = await ask([user(said)])
    expect(callsOf(reply)).toEqual([[name, input]])
    expect(reply.finishReason).toBe('tool_calls')
  })

  it('takes an inch mark for no quote that ends lines later', async () => {
    const { reply } = await ask([user('Set size to 5"\nSet label to "x"')])
    expect(reply.toolCalls).toHaveLength(2)
    expect(callsOf(reply)[1]).toEqual(['kv__set', { key: 'label', value: 'x' }])
  })

  it('works with any tool: types come from the schema', async () => {
    const book = tool(
      'hotel-desk__book_room',
      'Book a hotel room.',
      {
        city: text,
        nights: { type: 'integer' },
        breakfast: { type: 'boolean' },
        guests: { type: 'array', items: text },
        size: { type: 'string', enum: ['single', 'double'] },
        email: { type: 'string', format: 'email' },
      },
      ['city', 'nights', 'size'],
    )
    const { reply } = await ask(
      [
        user(
          'Book a double room with city Bern, nights: 3, no breakfast, guests ["Ann", "Bo"], mail ann@example.com',
        ),
      ],
      [book],
    )
    expect(callsOf(reply)[0]?.[1]).toEqual({
      city: 'Bern',
      nights: 3,
      breakfast: false,
      guests: ['Ann', 'Bo'],
      size: 'double',
      email: 'ann@example.com',
    })
  })

  it('takes no word of a quote, of code or of an exclusion for a request', async () => {
    expect(
      (await ask([user('Is "set colour to blue" an English sentence?')])).reply.toolCalls,
    ).toEqual([])
    const { reply } = await ask([user('Writing poems is fun')], [reviewer])
    expect(reply.toolCalls).toEqual([])
  })

  it('never guesses at a tool that destroys something', async () => {
    expect(
      (await ask([user('The key colour has a value stored')])).reply.toolCalls.map(
        ({ name }) => name,
      ),
    ).not.toContain('kv__delete')
    expect(callsOf((await ask([user('Delete the key colour')])).reply)).toEqual([
      ['kv__delete', { key: 'colour' }],
    ])
  })

  it('does not call a tool whose required argument was not said, and names it', async () => {
    const { reply } = await ask([user('Write a poem about the sea')], files)
    expect(reply.toolCalls).toEqual([])
    expect(reply.text).toContain('I did not call files__write: the message does not say its path')
  })
})

describe('a sub-agent', () => {
  const tools = files.slice(0, 1)

  it.each(['review: var a = eval(b)', 'Review `var a = eval(b)`', 'Review var a = eval(b)'])(
    'reviews the code in %j',
    async (said) => {
      const { turns, answer } = await run(said, () => null, tools)
      expect(turns).toEqual([])
      expect(answer).toBe(
        `I looked at 1 line with fixed rules; meaning is beyond me.\n- Line 1 evaluates text as code (eval).\n- Line 1 declares a variable with var.\n\n${signature}`,
      )
    },
  )

  it.each(['have src/a.js reviewed', 'Review `src/a.js`.', 'look at src/a.js. Report bugs'])(
    'reads the file before it answers %j, though it has one line',
    async (said) => {
      const { turns, answer } = await run(said, () => ({ text: 'var a = 1\n' }), tools)
      expect(turns).toEqual([[['files__read', { path: 'src/a.js' }]]])
      expect(answer).toBe(
        `src/a.js: I looked at 1 line with fixed rules; meaning is beyond me.\n- Line 1 declares a variable with var.\n\n${signature}`,
      )
    },
  )

  it('reads all files of a review, and reviews what it has if it cannot read them', async () => {
    const { turns, answer } = await run(
      'Review a.js and b.js: how do they do `eval(x)`?',
      () => new Error('There is no such file.'),
      tools,
    )
    expect(turns).toEqual([
      [
        ['files__read', { path: 'a.js' }],
        ['files__read', { path: 'b.js' }],
      ],
    ])
    expect(answer).toContain('files__read failed: There is no such file.')
    expect(answer).toContain('Line 1 evaluates text as code (eval).')
  })

  it('still writes a file that it is not to review', async () => {
    const { turns } = await run('Review a.js, then write "done" to b.md', () => null, files)
    expect(turns).toEqual([
      [['files__read', { path: 'a.js' }]],
      [['files__write', { path: 'b.md', text: 'done' }]],
    ])
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
  it('calls independent tools in one turn', async () => {
    const { turns } = await run('Set a to 1 and set b to 2, and read https://example.com', () => ({
      ok: true,
    }))
    expect(turns).toHaveLength(1)
    expect(turns[0]?.map(([name]) => name)).toEqual(['kv__set', 'kv__set', 'http__get'])
  })

  it('keeps each of several values in one sentence', async () => {
    const { turns } = await run(
      'Keep colour = blue and shape = round, then list the keys.',
      () => null,
    )
    expect(turns).toEqual([
      [
        ['kv__set', { key: 'colour', value: 'blue' }],
        ['kv__set', { key: 'shape', value: 'round' }],
      ],
      [['kv__list', {}]],
    ])
    const { reply } = await ask([user('Set key=colour, value=blue')])
    expect(callsOf(reply)).toEqual([['kv__set', { key: 'colour', value: 'blue' }]])
  })

  it('calls what depends on each other one after the other', async () => {
    const store = new Map<string, Json>()
    const { turns, answer } = await run(
      'Set colour to blue, then get colour.',
      (name, { key, value }) => {
        if (name === 'kv__set') store.set(String(key), value ?? null)
        return name === 'kv__set'
          ? { stored: String(key) }
          : { found: true, value: store.get(String(key)) ?? null }
      },
    )
    expect(turns).toEqual([
      [['kv__set', { key: 'colour', value: 'blue' }]],
      [['kv__get', { key: 'colour' }]],
    ])
    expect(answer).toBe(
      `kv__set: {"stored":"colour"}\nkv__get: {"found":true,"value":"blue"}\n\n${signature}`,
    )
  })

  it('hands a result on where the message says "it"', async () => {
    const { turns } = await run('Fetch https://example.com and save it to page.txt', (name) =>
      name === 'http__get' ? { status: 200, text: 'Hello page' } : { chars: 10 },
    )
    expect(turns[1]).toEqual([['files__write', { path: 'page.txt', text: 'Hello page' }]])
    const stored = await run(
      'Read https://example.com and store the text under the key page',
      () => ({
        text: 'Hello page',
      }),
    )
    expect(stored.turns[1]).toEqual([['kv__set', { key: 'page', value: 'Hello page' }]])
  })

  it('follows a numbered list in order', async () => {
    const { turns } = await run('1. Set a to 1\n2. Set b to 2\n3. List the keys', () => null)
    expect(turns.map((calls) => calls.map(([name]) => name))).toEqual([
      ['kv__set'],
      ['kv__set'],
      ['kv__list'],
    ])
  })

  it('looks for a tool that is called by its full name, though another one would fit', async () => {
    const far = {
      id: 'far__get',
      description: 'Gets a value from far away.',
      input_schema: { type: 'object', properties: { key: text }, required: ['key'] },
    }
    const { turns } = await run('Use far__get with key "color".', (name) =>
      name === 'isola__find' ? { tools: [far] } : 'blue',
    )
    expect(turns.flat().map(([name]) => name)).toEqual(['isola__find', 'isola__call'])
  })

  it('stops after a failed step and says so', async () => {
    const { turns, answer } = await run(
      'Set colour to blue, then get colour',
      () => new Error('No more space.'),
    )
    expect(turns).toHaveLength(1)
    expect(answer).toContain('kv__set failed: No more space. (tool_failed)')
    expect(answer).toContain('I did not call kv__get, since kv__set before it failed.')
  })

  it('looks for a tool that is not pinned and calls it by name', async () => {
    const translate = {
      id: 'babel__translate',
      description: 'Translate a text.',
      input_schema: { type: 'object', properties: { text, language: text }, required: ['text'] },
    }
    const { turns, answer } = await run('Translate "good morning" with language French', (name) =>
      name === 'isola__find' ? { tools: [translate] } : 'bonjour',
    )
    expect(turns).toEqual([
      [['isola__find', { queries: ['Translate good morning with language French'] }]],
      [
        [
          'isola__call',
          { name: 'babel__translate', input: { text: 'good morning', language: 'French' } },
        ],
      ],
    ])
    expect(answer).toBe(`babel__translate: bonjour\n\n${signature}`)
  })

  it('looks once only, and answers when nothing found fits', async () => {
    const { turns, answer } = await run('Translate "good morning"', () => ({ tools: [] }))
    expect(turns).toHaveLength(1)
    expect(answer).toContain('I looked for tools and found none that fits.')
  })

  it('never loops, whatever its tools answer', async () => {
    const answers: readonly (Json | Error)[] = [
      null,
      '',
      [],
      {},
      'Set colour to blue',
      { tools: [{ id: 'kv__set', input_schema: { type: 'object' } }] },
      new Error('again'),
    ]
    for (const answer of answers) {
      for (const said of [
        'Set a to 1. Set a to 1. Then set a to 1',
        'Search the web for cats and send it',
        'Fetch https://a.example and fetch it, then fetch it again',
      ]) {
        expect((await run(said, () => answer)).turns.length).toBeLessThan(8)
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

  it('gives a digest of the code when an agent has no tool for its task', async () => {
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
    expect(reply.text).not.toContain(introduction)
  })

  it('gives a digest of the text when there are no tools at all', async () => {
    const { reply } = await ask([user('Summarise the plan. It has two parts.')], [])
    expect(reply.text).toContain('The text has 7 words in 1 line. It begins: "Summarise the plan."')
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
    const { turns, answer } = await run(said, (name) => (name === 'kv__set' ? 'ok' : review.answer))
    expect(turns.flat().map(([name]) => name)).toEqual(['kv__set', 'code-reviewer__run'])
    expect(answer).toContain('kv__set: ok\ncode-reviewer__run: I looked at 1 line')
    expect(answer).not.toContain(introduction)
    expect(answer.split(signature)).toHaveLength(2)
  })

  it('quotes a sub-agent that was offline too without its signature', async () => {
    const { answer } = await run(
      'Ask the code reviewer to look at a.ts',
      () => `Fine.\n\n${signature}`,
    )
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

  it('gets arguments for the call: what was said, and samples for the rest', async () => {
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
      $defs: { mood: { type: 'string', enum: ['calm', 'wild'] } },
      properties: {
        mood: { $ref: '#/$defs/mood' },
        count: { type: 'integer', minimum: 3 },
        note: {
          anyOf: [
            { type: 'null' },
            { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] },
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

  it('survives a schema that points at itself', async () => {
    const schema = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }
    const { reply } = await ask([user('Hello!')], [], {
      parameters: { responseFormat: { type: 'json_schema', name: 'x', schema } },
    })
    expect(JSON.parse(reply.text)).toEqual(expect.any(String))
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
}, 60_000)
