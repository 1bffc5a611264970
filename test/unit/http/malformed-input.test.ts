import { describe, expect, it } from 'vitest'
import { createFakeApp, errorOf, testKey, testRun, testSession } from '../../fakes/http-deps.ts'
import { problemsOf } from '../../fakes/openai-schema.ts'

const chat = '/v1/chat/completions'
const session = `/api/sessions/${testSession}`
const runs = `${session}/runs`
const cancel = `${runs}/${testRun}/cancel`
const messages = `${runs}/${testRun}/messages`
const decisions = `${runs}/${testRun}/decisions`
const givenUp = '/api/operator/runs'
const retry = `${givenUp}/${testRun}/retry`
const drop = `${givenUp}/${testRun}/drop`
const user = { role: 'user', content: 'Hi' }
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })

interface Case {
  readonly name: string
  readonly path: string
  readonly method?: string
  readonly body?: BodyInit
  readonly headers?: Record<string, string>
  readonly status: number
  /** `null`: no field is at fault. */
  readonly param: string | null
  readonly code?: string
}

/** Every case: a clear 4xx in the OpenAI shape, the field named, no session asked to do anything. */
function check(cases: readonly Case[]): void {
  // A refused request changes nothing: one application for all of them.
  const { app, calls, faults } = createFakeApp()
  it.each(cases)('$name', async ({ path, method, body, headers, status, param, code }) => {
    calls.length = 0
    faults.length = 0
    const init = {
      method: method ?? 'POST',
      headers: { authorization: `Bearer ${testKey}`, ...headers },
      ...(body !== undefined && { body, duplex: 'half' }),
    }
    const response = await app.request(path, init)
    const text = await response.text()
    expect(response.status, text).toBe(status)
    if (method !== 'HEAD') {
      const answer = JSON.parse(text)
      expect(problemsOf('ErrorResponse', answer)).toEqual([])
      expect(answer.error.param, text).toBe(param)
      if (param !== null && status === 400) expect(answer.error.message).toContain(param)
      if (code !== undefined) expect(answer.error.code).toBe(code)
      expect(answer.error.message.length).toBeLessThan(600)
      expect(text).not.toMatch(/ at \S+ \(|\.ts:\d|node_modules|\[object |undefined,/)
    }
    expect(calls.filter((one) => one.method !== 'tree')).toEqual([])
    expect(faults).toEqual([])
  })
}

const json = { 'content-type': 'application/json' }
const fieldCases = (
  path: string,
  valid: object,
  table: readonly (readonly [unknown, string])[],
): Case[] =>
  table.map(([change, param]) => {
    const body = JSON.stringify({ ...valid, ...(change as object) })
    const name = `${path.replace(testSession, ':id').replace(testRun, ':run')} ${JSON.stringify(change).slice(0, 90)} → ${param}`
    return { name, path, body, headers: json, status: 400, param }
  })

describe('every method on every route', () => {
  const routes: readonly (readonly [string, readonly string[]])[] = [
    ['/healthz', ['GET']],
    [chat, ['POST']],
    ['/v1/models', ['GET']],
    ['/v1/models/orchestrator', ['GET']],
    ['/api/sessions', ['GET', 'POST']],
    [session, ['GET', 'POST', 'DELETE']],
    [runs, ['POST']],
    [`${runs}/${testRun}`, ['GET']],
    [cancel, ['POST']],
    [messages, ['POST']],
    [decisions, ['POST']],
    [`${session}/events`, ['GET']],
    [`${session}/transcript`, ['GET']],
    ['/api/operator/audit', ['GET']],
    ['/api/operator/health', ['GET']],
    ['/api/operator/usage', ['GET']],
    ['/api/operator/models', ['GET']],
    ['/api/operator/metrics', ['GET']],
    [givenUp, ['GET']],
    [`${givenUp}/${testRun}`, ['GET']],
    [retry, ['POST']],
    [drop, ['POST']],
  ]
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'patch']
  check(
    routes.flatMap(([path, allowed]) => {
      const answers = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : [])]
      return methods
        .filter((method) => !answers.includes(method))
        .map((method) => ({
          name: `${method} ${path.replace(testSession, ':id').replace(testRun, ':run')} → 405`,
          path,
          method,
          status: 405,
          param: null,
        }))
    }),
  )

  it.each(routes)('%s names what it allows', async (path, allowed) => {
    const response = await createFakeApp().send(path, { method: 'PUT' })
    const extra = allowed.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS']
    expect(response.headers.get('allow')).toBe([...allowed, ...extra].join(', '))
  })

  const unknown = [
    '/',
    '/v1',
    '/v1/chat',
    '/v1/chat/completions/x',
    '/api',
    `${session}/nope`,
    `${runs}/`.concat('a/b/c'),
  ]
  check(
    unknown.flatMap((path) =>
      ['GET', 'POST', 'PUT'].map((method) => ({
        name: `${method} ${path.replace(testSession, ':id')} → 404`,
        path,
        method,
        status: 404,
        param: null,
      })),
    ),
  )
})

describe('every route that takes a body', () => {
  const takers = [chat, '/api/sessions', runs, cancel, messages, decisions, retry, drop]
  const ten = 10 * 1024 * 1024
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const chunked = () => {
    let left = 12
    return new ReadableStream({
      pull: (controller) =>
        left-- > 0 ? controller.enqueue(new Uint8Array(1024 * 1024).fill(32)) : controller.close(),
    })
  }
  const manyKeys = Object.fromEntries(Array.from({ length: 100_001 }, (_, i) => [`k${i}`, 0]))
  const bad: readonly (Omit<Case, 'path' | 'name'> & { readonly what: string })[] = [
    {
      what: 'text/plain',
      body: '{}',
      headers: { 'content-type': 'text/plain' },
      status: 415,
      param: 'content-type',
    },
    { what: 'a form', body: new URLSearchParams({ a: '1' }), status: 415, param: 'content-type' },
    {
      what: 'a multipart form',
      body: 'x',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      status: 415,
      param: 'content-type',
    },
    {
      what: 'no content type',
      body: new TextEncoder().encode('{}'),
      status: 415,
      param: 'content-type',
    },
    {
      what: 'a near miss',
      body: '{}',
      headers: { 'content-type': 'application/jsonx' },
      status: 415,
      param: 'content-type',
    },
    {
      what: 'another charset',
      body: '{}',
      headers: { 'content-type': 'application/json; charset=utf-16' },
      status: 415,
      param: 'content-type',
    },
    {
      what: 'a compressed body',
      body: '{}',
      headers: { ...json, 'content-encoding': 'gzip' },
      status: 415,
      param: 'content-type',
    },
    { what: '10 MB', body: `{"a":"${'x'.repeat(ten)}"}`, headers: json, status: 413, param: null },
    { what: 'a stream of 12 MB', body: chunked(), headers: json, status: 413, param: null },
    {
      what: 'a length that says 10 MB',
      body: '{}',
      headers: { ...json, 'content-length': String(ten) },
      status: 413,
      param: null,
    },
    { what: 'half an object', body: '{"a":', headers: json, status: 400, param: null },
    { what: 'two objects', body: '{}{}', headers: json, status: 400, param: null },
    { what: 'a comment', body: '{} // x', headers: json, status: 400, param: null },
    { what: 'only spaces', body: '   ', headers: json, status: 400, param: null },
    { what: 'NaN', body: '{"a":NaN}', headers: json, status: 400, param: null },
    { what: 'an array', body: '[]', headers: json, status: 400, param: null },
    { what: 'null', body: 'null', headers: json, status: 400, param: null },
    { what: 'a string', body: '"x"', headers: json, status: 400, param: null },
    { what: 'a number', body: '1', headers: json, status: 400, param: null },
    {
      what: 'bytes that are no UTF-8',
      body: Uint8Array.of(123, 34, 255, 254, 34, 125),
      headers: json,
      status: 400,
      param: null,
    },
    {
      what: '__proto__',
      body: '{"__proto__":{"polluted":true}}',
      headers: json,
      status: 400,
      param: '__proto__',
    },
    {
      what: '__proto__ inside',
      body: '{"messages":[{"__proto__":null}]}',
      headers: json,
      status: 400,
      param: 'messages[0].__proto__',
    },
    {
      what: '65 levels',
      body: `{"a":${deep(64)}}`,
      headers: json,
      status: 400,
      param: `a${'[0]'.repeat(63)}`,
    },
    {
      what: '100,001 keys',
      body: JSON.stringify(manyKeys),
      headers: json,
      status: 400,
      param: null,
    },
    {
      what: '1,000,000 elements',
      body: `{"messages":[${'0,'.repeat(999_999)}0]}`,
      headers: json,
      status: 400,
      param: 'messages',
    },
    {
      what: 'two million empty arrays',
      body: `{"a":[${'[],'.repeat(1_000_000)}[]]}`,
      headers: json,
      status: 400,
      param: 'a',
    },
  ]
  check(
    takers.flatMap((path) =>
      bad.map(({ what, ...one }) => ({
        ...one,
        // A stream can be read once.
        ...(one.body instanceof ReadableStream && { body: chunked() }),
        name: `${path.replace(testSession, ':id').replace(testRun, ':run')} refuses ${what}`,
        path,
      })),
    ),
  )

  it.each(takers)('%s refuses 100,000 levels', async (path) => {
    const body = `{"a":${deep(100_000)}}`
    const response = await createFakeApp().send(path, { method: 'POST', body, headers: json })
    const error = await errorOf(response)
    expect([response.status, error.param?.startsWith('a[0][0]')]).toEqual([400, true])
    expect(error.message).toContain('nested deeper than 64 levels')
  })

  it('64 levels are taken', async () => {
    const body = JSON.stringify({
      model: 'orchestrator',
      messages: [user],
      x: JSON.parse(deep(63)),
    })
    expect((await createFakeApp().send(chat, { method: 'POST', body, headers: json })).status).toBe(
      200,
    )
  })
})

const tool = { type: 'function', function: { name: 'f', parameters: {} } }

describe('every field of a chat request', () => {
  const valid = { model: 'orchestrator', messages: [user] }
  const message = (...messages: unknown[]) => ({ messages })
  check(
    fieldCases(chat, valid, [
      ...[undefined, null, 1, true, {}, [], ''].map((model) => [{ model }, 'model'] as const),
      [{ model: 'x'.repeat(201) }, 'model'],
      ...[undefined, null, 1, 'x', {}, []].map((messages) => [{ messages }, 'messages'] as const),
      ...[null, 1, 'x', []].map((one) => [message(one), 'messages[0]'] as const),
      ...[undefined, null, 1, 'function', 'bot', 'USER'].map(
        (role) => [message({ role, content: 'x' }), 'messages[0].role'] as const,
      ),
      ...[undefined, null, 1, {}, [], true].flatMap((content) =>
        ['system', 'developer', 'user'].map(
          (role) => [message({ role, content }, user), 'messages[0].content'] as const,
        ),
      ),
      [message(user, { role: 'assistant', content: 5 }, user), 'messages[1].content'],
      [message({ role: 'user', content: [null] }), 'messages[0].content[0]'],
      [message({ role: 'user', content: [{}] }), 'messages[0].content[0].type'],
      [message({ role: 'user', content: [{ type: 'text' }] }), 'messages[0].content[0].text'],
      ...['input_audio', 'file', 'refusal', 'video'].map(
        (type) =>
          [
            message({ role: 'user', content: [{ type: 'text', text: 'x' }, { type }] }),
            'messages[0].content[1].type',
          ] as const,
      ),
      [
        message(
          { role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x/y' } }] },
          user,
        ),
        'messages[0].content[0].type',
      ],
      [
        message({ role: 'user', content: [{ type: 'image_url' }] }),
        'messages[0].content[0].image_url',
      ],
      ...[1, '', 'file:///etc/passwd', 'javascript:1', 'data:text/html,x'].map(
        (url) =>
          [
            message({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }),
            'messages[0].content[0].image_url.url',
          ] as const,
      ),
      [message({ role: 'user', content: '' }), 'messages[0].content'],
      [message({ role: 'system', content: 'x' }), 'messages[0].role'],
      [message(user, { role: 'assistant', content: 'x' }), 'messages[1].role'],
      [
        message(user, { role: 'tool', tool_call_id: 'c', content: 'x' }),
        'messages[1].tool_call_id',
      ],
      [message(user, { role: 'tool', content: 'x' }, user), 'messages[1].tool_call_id'],
      [
        message(user, { role: 'tool', tool_call_id: 'c', content: 'x' }, user),
        'messages[1].tool_call_id',
      ],
      [message(user, { role: 'assistant', tool_calls: [call('c')] }, user), 'messages[2]'],
      [message(user, { role: 'assistant', tool_calls: 'x' }, user), 'messages[1].tool_calls'],
      [
        message(user, { role: 'assistant', tool_calls: [{}] }, user),
        'messages[1].tool_calls[0].id',
      ],
      [
        message(
          user,
          {
            role: 'assistant',
            tool_calls: [{ ...call('c'), function: { name: 'f', arguments: {} } }],
          },
          user,
        ),
        'messages[1].tool_calls[0].function.arguments',
      ],
      ...[1, 'true', {}, []].map((stream) => [{ stream }, 'stream'] as const),
      ...[1, 'x', []].map((options) => [{ stream_options: options }, 'stream_options'] as const),
      [{ stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage'],
      ...['0.5', -0.1, 2.1, {}, true].map(
        (temperature) => [{ temperature }, 'temperature'] as const,
      ),
      ...['1', -1, 1.1].map((top_p) => [{ top_p }, 'top_p'] as const),
      ...['1', 0, -5, 1.5, 1e300].map((max) => [{ max_tokens: max }, 'max_tokens'] as const),
      ...['1', 0, 1.5].map(
        (max) => [{ max_completion_tokens: max }, 'max_completion_tokens'] as const,
      ),
      ...[1, {}, ['a', 'b', 'c', 'd', 'e']].map((stop) => [{ stop }, 'stop'] as const),
      [{ stop: ['a', 1] }, 'stop[1]'],
      ...['1', 1.5, {}].map((seed) => [{ seed }, 'seed'] as const),
      ...['1', 0, 1.5, 2, 128].map((n) => [{ n }, 'n'] as const),
      ...['json', 1, []].map((format) => [{ response_format: format }, 'response_format'] as const),
      [{ response_format: {} }, 'response_format.type'],
      [{ response_format: { type: 'xml' } }, 'response_format.type'],
      [{ tools: {} }, 'tools'],
      [{ tools: 'x' }, 'tools'],
      [{ functions: 1 }, 'functions'],
      [{ tool_choice: 1 }, 'tool_choice'],
      [{ tools: [tool, tool] }, 'tools'],
      [{ tools: [{ type: 'function', function: { name: 'kv__set' } }] }, 'tools'],
      [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
      ...['', 'a b', 'isola__find', 'x'.repeat(65)].map(
        (name) =>
          [
            { tools: [{ type: 'function', function: { name } }] },
            'tools[0].function.name',
          ] as const,
      ),
      [{ tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice'],
      [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
      [
        { response_format: { type: 'json_schema', json_schema: { name: 'a b' } } },
        'response_format.json_schema.name',
      ],
    ]),
  )

  check(
    fieldCases(chat, valid, [
      [{ functions: [{ name: 'f' }] }, 'functions'],
      [{ tools: [tool], tool_choice: { type: 'web_search_preview' } }, 'tool_choice'],
      [{ function_call: 'auto' }, 'function_call'],
      [{ n: 2 }, 'n'],
    ]).map((one) => ({ ...one, name: `${one.name} (unsupported)`, code: 'unsupported_parameter' })),
  )

  check(
    ['gpt-9', 'Orchestrator', '../orchestrator', 'other/model'].map((model) => ({
      name: `a model nobody serves: ${model}`,
      path: chat,
      body: JSON.stringify({ ...valid, model }),
      headers: json,
      status: 404,
      param: 'model',
      code: 'model_not_found',
    })),
  )

  const headers: readonly (readonly [string, string])[] = [
    ['x-isola-session', ''],
    ['x-isola-session', 'x'.repeat(201)],
    ['x-isola-session', 'caf\u00e9'],
    ['x-isola-session', 'a\tb'],
    ['idempotency-key', ''],
    ['idempotency-key', 'x'.repeat(256)],
  ]
  check(
    headers.map(([name, value]) => ({
      name: `the header ${name}: ${JSON.stringify(value.slice(0, 20))}`,
      path: chat,
      body: JSON.stringify(valid),
      headers: { ...json, [name]: value },
      status: 400,
      param: name,
    })),
  )
})

describe('every field of /api', () => {
  const task = { task: 'x' }
  const limits = (limit: object) => ({ limits: limit })
  const tool = { name: 'pick', description: 'Picks.', inputSchema: { type: 'object' } }
  const tools = (...list: unknown[]) => ({ clientTools: list })
  const wrongLimits: readonly (readonly [unknown, string])[] = [
    ...[null, 1, 'x', []].map((value) => [{ limits: value }, 'limits'] as const),
    ...['maxTokens', 'maxTurns', 'maxToolCalls', 'maxChildren', 'maxCostUsd'].flatMap((name) =>
      [null, '1', -1, {}].map((value) => [limits({ [name]: value }), `limits.${name}`] as const),
    ),
    [limits({ maxTokens: 0 }), 'limits.maxTokens'],
    [limits({ maxTokens: 1.5 }), 'limits.maxTokens'],
    [limits({ maxTokens: 1e300 }), 'limits.maxTokens'],
    [limits({ maxTurns: 0 }), 'limits.maxTurns'],
    [limits({ maxCostUsd: 1_000_001 }), 'limits.maxCostUsd'],
    [limits({ maxCostNanoUsd: 1 }), 'limits.maxCostNanoUsd'],
    [limits({ max_tokens: 1 }), 'limits.max_tokens'],
  ]
  check([
    ...fieldCases('/api/sessions', {}, [
      ...[null, 1, {}, [], '', 'x'.repeat(201)].map((agent) => [{ agent }, 'agent'] as const),
      ...wrongLimits,
      // What does not add up over runs limits a run only.
      [limits({ maxTimeMs: 1 }), 'limits.maxTimeMs'],
      [limits({ maxDepth: 1 }), 'limits.maxDepth'],
      [limits({ maxConcurrency: 1 }), 'limits.maxConcurrency'],
      [{ unknown: 1 }, 'unknown'],
      [{ constructor: 1 }, 'constructor'],
      [{ ['x'.repeat(5_000)]: 1 }, `${'x'.repeat(200)}…`],
    ]),
    ...fieldCases(runs, task, [
      ...[undefined, null, 1, {}, [], ''].map((value) => [{ task: value }, 'task'] as const),
      ...[null, 1, {}, [], ''].map((context) => [{ context }, 'context'] as const),
      ...[null, 1, {}, ''].map((model) => [{ model }, 'model'] as const),
      ...[null, 1, 'true', {}].map((wait) => [{ wait }, 'wait'] as const),
      ...[null, 1, 'x', []].map((parameters) => [{ parameters }, 'parameters'] as const),
      [{ parameters: { temperature: 3 } }, 'parameters.temperature'],
      [{ parameters: { topP: '1' } }, 'parameters.topP'],
      [{ parameters: { maxOutputTokens: 0 } }, 'parameters.maxOutputTokens'],
      [{ parameters: { stop: 'x' } }, 'parameters.stop'],
      [{ parameters: { seed: 1.5 } }, 'parameters.seed'],
      [{ parameters: { timeoutMs: -1 } }, 'parameters.timeoutMs'],
      [{ parameters: { max_tokens: 5 } }, 'parameters.max_tokens'],
      ...wrongLimits,
      [limits({ maxTimeMs: 0 }), 'limits.maxTimeMs'],
      [limits({ maxDepth: -1 }), 'limits.maxDepth'],
      [limits({ maxConcurrency: 0 }), 'limits.maxConcurrency'],
      ...[null, 1, '*', {}].map(
        (requireApproval) => [{ requireApproval }, 'requireApproval'] as const,
      ),
      ...['nothing', 'kv', 'KV__*', 'kv__'].map(
        (name) => [{ requireApproval: [name] }, 'requireApproval[0]'] as const,
      ),
      ...[null, 1, '', '**', 'kv__**', 'a b', 'kv.set', 'x'.repeat(65), '*__set'].map(
        (pattern) => [{ requireApproval: ['*', pattern] }, 'requireApproval[1]'] as const,
      ),
      [{ requireApproval: Array.from({ length: 101 }, () => '*') }, 'requireApproval'],
      ...[null, 1, 'yes', {}].map((mayAsk) => [{ mayAsk }, 'mayAsk'] as const),
      ...[null, 1, 'x', {}].map((value) => [{ clientTools: value }, 'clientTools'] as const),
      ...[null, 1, 'x', []].map((value) => [tools(value), 'clientTools[0]'] as const),
      ...[undefined, null, 1, '', 'a b', 'a.b', 'ü', 'x'.repeat(65), 'isola__find'].map(
        (name) => [tools(tool, { ...tool, name }), 'clientTools[1].name'] as const,
      ),
      ...[undefined, null, 1, '', 'x'.repeat(4_001)].map(
        (description) => [tools({ ...tool, description }), 'clientTools[0].description'] as const,
      ),
      ...[undefined, null, 1, 'x', [], { type: 'string' }, { a: 'x'.repeat(16_000) }].map(
        (inputSchema) => [tools({ ...tool, inputSchema }), 'clientTools[0].inputSchema'] as const,
      ),
      [tools(tool, { ...tool, name: 'other' }, tool), 'clientTools[2].name'],
      [tools({ ...tool, type: 'function' }), 'clientTools[0].type'],
      [tools(...Array.from({ length: 65 }, (_, n) => ({ ...tool, name: `t${n}` }))), 'clientTools'],
      [
        tools(
          ...Array.from({ length: 60 }, (_, n) => ({
            ...tool,
            name: `t${n}`,
            description: 'x'.repeat(4_000),
          })),
        ),
        'clientTools',
      ],
      [{ stream: true }, 'stream'],
      [{ tasks: 'x' }, 'tasks'],
      [{ pauses: 'refuse' }, 'pauses'],
      [{ principal: 'somebody' }, 'principal'],
      [{ idempotencyKey: 'k' }, 'idempotencyKey'],
    ]),
    ...fieldCases(messages, { message: 'x' }, [
      ...[undefined, null, 1, {}, [], '', 'x'.repeat(500_001)].map(
        (message) => [{ message }, 'message'] as const,
      ),
      [{ role: 'system' }, 'role'],
    ]),
    ...fieldCases(decisions, { call: 'call_1', decision: 'approve' }, [
      ...[undefined, null, 1, {}, [], '', 'x'.repeat(201)].map(
        (id) => [{ call: id }, 'call'] as const,
      ),
      ...[undefined, null, 1, true, {}, [], '', 'approved', 'APPROVE'].map(
        (decision) => [{ decision }, 'decision'] as const,
      ),
      ...[null, 1, '', 'x'.repeat(201)].map((argsHash) => [{ argsHash }, 'argsHash'] as const),
      [{ message: 'x' }, 'message'],
      [{ output: 1 }, 'output'],
      ...[null, 1, '', 'x'.repeat(4_001)].map(
        (message) => [{ decision: 'deny', message }, 'message'] as const,
      ),
      [{ decision: 'deny', argsHash: 'x' }, 'argsHash'],
      [{ decision: 'result' }, 'output'],
      [{ decision: 'result', output: 1, message: 'x' }, 'message'],
      ...[undefined, null, 1, ''].map(
        (message) => [{ decision: 'error', message }, 'message'] as const,
      ),
      [{ decision: 'error', message: 'x', output: 1 }, 'output'],
    ]),
    ...[retry, drop].flatMap((path) => [
      ...fieldCases(path, {}, [[{ force: true }, 'force']]),
      {
        name: `a malformed run at ${path.replace(testRun, ':run')}`,
        path: path.replace(testRun, 'x'),
        status: 404,
        param: null,
      },
    ]),
    ...fieldCases(cancel, {}, [
      ...[null, 1, {}, '', 'x'.repeat(501)].map((reason) => [{ reason }, 'reason'] as const),
      [{ force: true }, 'force'],
    ]),
    {
      name: 'a run without a body',
      path: runs,
      status: 400,
      param: null,
    },
    ...[
      ['/api/sessions', {}] as const,
      [runs, task] as const,
      [messages, { message: 'x' }] as const,
    ].map(([path, body]) => ({
      name: `a bad idempotency key at ${path.replace(testSession, ':id').replace(testRun, ':run')}`,
      path,
      body: JSON.stringify(body),
      headers: { ...json, 'idempotency-key': 'x'.repeat(256) },
      status: 400,
      param: 'idempotency-key',
    })),
    ...[messages, decisions].flatMap((path) =>
      ['x', 'run_', `${testRun}0`].map((id) => ({
        name: `a malformed run ${path.replace(testSession, ':id').replace(testRun, id)}`,
        path: path.replace(testRun, id),
        body: '{}',
        headers: json,
        status: 404,
        param: null,
      })),
    ),
  ])

  const queries: readonly (readonly [string, string, number, string | null])[] = [
    [`${session}/events`, '?cursor=x', 400, 'cursor'],
    [`${session}/events`, '?cursor=-1', 400, 'cursor'],
    [`${session}/events`, '?cursor=1e3', 400, 'cursor'],
    [`${session}/events`, `?cursor=${testRun}:`, 400, 'cursor'],
    [`${session}/events`, '?cursor=run_x:1', 400, 'cursor'],
    [`${session}/events`, '?cursor=9999999999999999', 400, 'cursor'],
    [`${session}/events`, '?follow=maybe', 400, 'follow'],
    [`${session}/events`, '?unknown=1', 400, 'unknown'],
    [`${session}/events`, '?__proto__=1', 400, '__proto__'],
    [`${session}/events`, '?run=x', 404, null],
    [`${runs}/x`, '', 404, null],
    [`${runs}/run_${'%00'.repeat(22)}`, '', 404, null],
    ['/api/operator/audit', '?trace=x', 400, 'trace'],
    ['/api/operator/audit', `?trace=${'A'.repeat(32)}`, 400, 'trace'],
    ['/api/operator/audit', '?session=x', 400, 'session'],
    ['/api/operator/audit', '?limit=0', 400, 'limit'],
    ['/api/operator/audit', '?limit=501', 400, 'limit'],
    ['/api/operator/audit', '?limit=ten', 400, 'limit'],
    ['/api/operator/audit', '?limit=', 400, 'limit'],
    ['/api/operator/audit', '?after=-1', 400, 'after'],
    ['/api/operator/audit', '?order=newest', 400, 'order'],
    ['/api/operator/audit', '?after=5-17', 400, 'after'],
    ['/api/operator/audit', '?order=desc&after=17', 400, 'after'],
    ['/api/operator/audit', '?type=*', 400, 'type'],
    ['/api/operator/audit', '?since=yesterday', 400, 'since'],
    ['/api/operator/usage', '?by=hour', 400, 'by'],
    ['/api/operator/usage', '?since=0', 400, 'by'],
    ['/api/operator/usage', '?by=agent&since=0', 400, 'since'],
    [givenUp, '?state=closed', 400, 'state'],
    [givenUp, '?state=', 400, 'state'],
    [givenUp, '?limit=0', 400, 'limit'],
    [givenUp, '?limit=501', 400, 'limit'],
    [givenUp, '?after=1', 400, 'after'],
    [`${givenUp}/x`, '', 404, null],
    ['/api/operator/usage', '?principal=', 400, 'principal'],
    ['/api/operator/models', '?hours=-1', 400, 'hours'],
    ['/api/operator/metrics', '?since=-1', 400, 'since'],
    ['/api/operator/metrics', '?since=yesterday', 400, 'since'],
    ['/api/operator/metrics', '?since=2026-13-40', 400, 'since'],
    ['/api/operator/metrics', '?format=xml', 400, 'format'],
    ['/api/operator/metrics', '?hours=1', 400, 'hours'],
    ['/api/operator/usage', `?principal=${'x'.repeat(201)}`, 400, 'principal'],
    ['/api/operator/usage', '?day=today', 400, 'day'],
  ]
  check(
    queries.map(([path, query, status, param]) => ({
      name: `GET ${path.replace(testSession, ':id')}${query}`,
      path: `${path}${query}`,
      method: 'GET',
      status,
      param,
    })),
  )

  check([
    {
      name: 'a malformed Last-Event-ID',
      path: `${session}/events`,
      method: 'GET',
      headers: { 'last-event-id': 'nonsense' },
      status: 400,
      param: 'last-event-id',
    },
    ...['x', 'ses_', `${testSession}0`, 'ses_%2F%2e%2e'].flatMap((id) =>
      [
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/transcript'],
        ['GET', '/events'],
        ['GET', `/runs/${testRun}`],
        ['POST', '/runs'],
        ['POST', `/runs/${testRun}/cancel`],
        ['POST', `/runs/${testRun}/messages`],
        ['POST', `/runs/${testRun}/decisions`],
      ].map(([method = '', rest = '']) => ({
        name: `${method} /api/sessions/${id}${rest.replace(testRun, ':run')} → 404`,
        path: `/api/sessions/${id}${rest}`,
        method,
        status: 404,
        param: null,
      })),
    ),
  ])
})

describe('every field of a request for a response', () => {
  const path = '/v1/responses'
  const fine = { model: 'orchestrator', input: 'Hi' }
  const item = (...items: unknown[]) => ({ input: items })
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'c', output: 'x' }
  const said = { role: 'user', content: 'Hi' }
  const f = { type: 'function', name: 'f', parameters: {} }
  check(
    fieldCases(path, fine, [
      [{ model: undefined }, 'model'],
      [{ input: undefined }, 'input'],
      [{ input: '' }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: 5 }, 'input'],
      [item({ role: 'robot', content: 'x' }), 'input[0].role'],
      [item({ role: 'user' }), 'input[0].content'],
      [item({ role: 'user', content: '' }), 'input[0].content'],
      [
        item({ role: 'user', content: [{ type: 'input_file', file_url: 'x' }] }),
        'input[0].content[0].type',
      ],
      [item({ type: 'sculpture' }), 'input[0].type'],
      [item({ type: 'item_reference', id: 'msg_unknown' }), 'input[0].id'],
      [item(said, { ...call, arguments: undefined }), 'input[1].arguments'],
      [item(said, { ...call, call_id: undefined }, output), 'input[1].call_id'],
      [item(said, call), 'input'],
      [item(said, call, said), 'input[2]'],
      [item(output), 'input[0]'],
      [item(said, call, output, output), 'input[3]'],
      [item({ role: 'assistant', content: 'x' }), 'input'],
      [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
      [{ previous_response_id: '' }, 'previous_response_id'],
      [{ conversation: 'conv_1' }, 'conversation'],
      [{ conversation: `conv_${'S'.repeat(22)}`, previous_response_id: 'x' }, 'conversation'],
      [{ background: true, store: false }, 'background'],
      [{ stream: 'yes' }, 'stream'],
      [{ temperature: 3 }, 'temperature'],
      [{ top_p: -1 }, 'top_p'],
      [{ max_output_tokens: 0 }, 'max_output_tokens'],
      [{ max_tool_calls: 0 }, 'max_tool_calls'],
      [{ metadata: { a: 1 } }, 'metadata.a'],
      [
        { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, ''])) },
        'metadata',
      ],
      [{ tools: 'x' }, 'tools'],
      [{ tools: [f, f] }, 'tools'],
      [{ tools: [{ ...f, name: 'kv__set' }] }, 'tools'],
      [{ tools: [{ ...f, name: 'isola__find' }] }, 'tools[0].name'],
      [{ tools: [{ type: 'function' }] }, 'tools[0].name'],
      [{ tools: [{ ...f, parameters: 5 }] }, 'tools[0].parameters'],
      [{ tool_choice: 5 }, 'tool_choice'],
      [{ tool_choice: { type: 'function', name: 'g' }, tools: [f] }, 'tool_choice'],
      [
        {
          tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'g' }] },
          tools: [f],
        },
        'tool_choice',
      ],
      [{ text: { format: { type: 'xml' } } }, 'text.format.type'],
      [{ text: { format: { type: 'json_schema', name: 'a b', schema: {} } } }, 'text.format.name'],
    ]),
  )
})

describe('a schema that the answer is to fit', () => {
  const { send, calls } = createFakeApp()
  const asked = async (schema: object) => {
    const format = { type: 'json_schema', name: 'city' }
    const sent = [
      send('/v1/chat/completions', {
        json: {
          model: 'orchestrator',
          messages: [{ role: 'user', content: 'Hi' }],
          response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
        },
      }),
      send('/v1/responses', {
        json: { model: 'orchestrator', input: 'Hi', text: { format: { ...format, schema } } },
      }),
    ]
    return Promise.all(
      sent.map(async (sending) => {
        const answer = await sending
        const { error } = (await answer.json()) as { error?: { param: string } }
        return [answer.status, error?.param]
      }),
    )
  }

  it.each([
    [{ type: 'text' }, 'type'],
    [{ type: 'object', properties: { name: { type: 'str' } } }, 'properties.name.type'],
    [{ type: 'object', required: 'name' }, 'required'],
    [{ type: 'array', items: { anyOf: [] } }, 'items.anyOf'],
  ])('that is none is refused, naming what is wrong: %j', async (schema, param) => {
    expect(await asked(schema)).toEqual([
      [400, `response_format.json_schema.schema.${param}`],
      [400, `text.format.schema.${param}`],
    ])
    expect(calls).toEqual([])
  })
})
