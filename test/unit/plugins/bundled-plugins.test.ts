import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { bundledPlugins } from '../../../src/bundled.gen.ts'
import { createSchemaValidator } from '../../../src/runtime/catalog/schema-validator.ts'
import type { Carrier } from '#contracts/outbound.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { CapabilityDeps } from '../../../src/features/plugins/capabilities/capability-deps.ts'
import { loadPlugins } from '../../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../../src/features/plugins/tools/tool-entries.ts'
import { createCapabilityDeps, runningIsolates } from '../../fakes/plugins.ts'
import { createToolContext } from '../../fakes/tool-context.ts'

const { plugins, problems } = loadPlugins(bundledPlugins, { validator: createSchemaValidator() })

/** The bundled tools over fresh sessions; a call whose input does not fit its schema is a mistake of the test. */
function createTools(
  fetch: Carrier = async () => new Response(''),
  network?: CapabilityDeps['network'],
) {
  const deps = createCapabilityDeps({ fetch, ...(network && { network }) })
  const entries = new Map(
    plugins
      .flatMap((plugin) => toToolEntries(plugin, deps))
      .map((entry) => [entry.tool.name, entry]),
  )
  const validator = createSchemaValidator()
  return {
    entries,
    call: async (name: string, input: JsonObject, context: Partial<ToolContext> = {}) => {
      const { tool } = entries.get(name)!
      expect(validator.validate(tool.inputSchema, input)).toEqual({ ok: true })
      const result = await tool.execute(input, createToolContext(context))
      if (result.ok && tool.outputSchema)
        expect(validator.validate(tool.outputSchema, result.output)).toEqual({ ok: true })
      return result.ok ? result.output : result.error
    },
  }
}

test('Y25: every bundled plugin loads from its manifest', () => {
  expect(problems).toEqual([])
  const ids = plugins.map(({ manifest }) => manifest.id)
  expect(ids).toEqual(expect.arrayContaining(['code-reviewer', 'files', 'http', 'kv', 'memory']))
})

test('Y32, I20: a shipped plugin that is switched off loads when it is switched on', () => {
  const off = bundledPlugins.filter(({ manifest }) => Object(manifest).enabled === false)
  const ids = off.map(({ manifest }) => (manifest as { id: string }).id)
  expect(ids).toEqual(['code', 'price-monitor', 'sql', 'web-search'])
  const on = bundledPlugins.map((plugin) => ({
    ...plugin,
    manifest: { ...Object(plugin.manifest), enabled: true } as unknown,
  }))
  const validator = createSchemaValidator()
  const report = loadPlugins(on, { validator, isolates: runningIsolates })
  expect(report.problems).toEqual([])
  expect(report.plugins).toHaveLength(bundledPlugins.length)
  const without = loadPlugins(on, { validator })
  expect(without.problems).toMatchObject([{ plugin: 'code', code: 'plugin_isolate_unavailable' }])
})

test('X4, I20: nothing that ships runs a shell or a process, or reaches a server over stdio', () => {
  const everything = JSON.stringify(bundledPlugins.map(({ manifest }) => manifest))
  expect(everything).not.toMatch(/"id":"(shell|process|terminal)"|child_process|stdio/)
})

test('hints say which calls may run again after a cut', () => {
  const { entries } = createTools()
  const may = (name: string) =>
    entries.get(name)!.isReadOnly
      ? 'read-only'
      : entries.get(name)!.isIdempotent
        ? 'idempotent'
        : 'no'
  const owned = ['kv', 'files', 'http', 'memory'].flatMap((id) =>
    [...entries.keys()].filter((name) => name.startsWith(`${id}__`)),
  )
  expect(Object.fromEntries(owned.map((name) => [name, may(name)]))).toEqual({
    kv__get: 'read-only',
    kv__set: 'idempotent',
    kv__delete: 'idempotent',
    kv__list: 'read-only',
    files__read: 'read-only',
    files__write: 'idempotent',
    files__list: 'read-only',
    files__delete: 'idempotent',
    http__get: 'read-only',
    http__request: 'no',
    memory__note: 'no',
    memory__recall: 'read-only',
    memory__clear: 'idempotent',
    memory__remember: 'idempotent',
    memory__forget: 'idempotent',
  })
})

test('Y32: kv keeps, lists and deletes values', async () => {
  const { call } = createTools()
  expect(await call('kv__get', { key: 'a' })).toEqual({ found: false })
  expect(await call('kv__set', { key: 'a', value: { b: [1] } })).toEqual({ stored: 'a' })
  expect(await call('kv__get', { key: 'a' })).toEqual({ found: true, value: { b: [1] } })
  await call('kv__set', { key: 'other', value: null })
  expect(await call('kv__get', { key: 'other' })).toEqual({ found: true, value: null })
  expect(await call('kv__list', { prefix: 'a' })).toEqual({ keys: ['a'] })
  expect(await call('kv__list', {})).toEqual({ keys: ['a', 'other'] })
  expect(await call('kv__delete', { key: 'a' })).toEqual({ deleted: true })
  expect(await call('kv__delete', { key: 'a' })).toEqual({ deleted: false })
})

describe('files', () => {
  test('writes, reads a part, lists and deletes', async () => {
    const { call } = createTools()
    await call('files__write', { path: 'src/a.ts', text: '0123456789' })
    expect(await call('files__read', { path: 'src/a.ts', offset: 2, max_chars: 3 })).toEqual({
      path: 'src/a.ts',
      text: '234',
      total_chars: 10,
      truncated: true,
    })
    expect(await call('files__read', { path: 'src/a.ts', offset: 8 })).toEqual({
      path: 'src/a.ts',
      text: '89',
      total_chars: 10,
    })
    expect(await call('files__list', { prefix: 'src/' })).toEqual({ paths: ['src/a.ts'] })
    expect(await call('files__delete', { path: 'src/a.ts' })).toEqual({ deleted: true })
    expect(await call('files__read', { path: 'src/a.ts' })).toMatchObject({
      message: 'There is no file src/a.ts.',
    })
  })

  test.each([
    '/etc/passwd',
    '../a',
    'a/../../b',
    'a/..',
    './a',
    'a//b',
    'a/',
    'a\\b',
    'C:/a',
    'a\u0000b',
    'a/ /b',
  ])('refuses the path %j', async (path) => {
    expect(await createTools().call('files__write', { path, text: '' })).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('The path') as string,
    })
  })
})

test('I21: memory notes, recalls by words and by age, and clears', async () => {
  const { call } = createTools()
  await call('memory__note', { text: 'The invoice service times out above 500 rows.' })
  await call('memory__note', { text: 'The team meets on Monday.' })
  expect(await call('memory__recall', { query: 'invoice timeout' })).toMatchObject({
    notes: [{ text: expect.stringContaining('invoice') as string }],
  })
  expect(await call('memory__recall', { limit: 1 })).toMatchObject({
    notes: [{ text: 'The team meets on Monday.' }],
  })
  await call('memory__clear', {})
  expect(await call('memory__recall', {})).toEqual({ notes: [] })
})

test('C3: remembered facts and notes are recalled by one question, each in turn', async () => {
  const { call } = createTools()
  const { remembered } = (await call('memory__remember', { fact: 'The client likes blue' })) as {
    remembered: string
  }
  await call('memory__note', { text: 'The client called at noon.' })
  await call('memory__note', { text: 'The client called again.' })
  const textsOf = async (input: JsonObject) =>
    ((await call('memory__recall', input)) as { notes: { text: string }[] }).notes.map(
      ({ text }) => text,
    )
  expect(await textsOf({ query: 'client' })).toHaveLength(3)
  expect((await textsOf({ query: 'client', limit: 2 }))[0]).toBe('The client likes blue')
  expect(await textsOf({ scope: 'session' })).not.toContain('The client likes blue')
  expect(await textsOf({ scope: 'principal' })).toEqual(['The client likes blue'])
  const fact = 'The client likes green'
  expect(await call('memory__remember', { fact, replaces: remembered })).toEqual({
    remembered,
    state: 'replaced',
  })
  expect(await textsOf({ scope: 'principal' })).toEqual([fact])
  await call('memory__clear', {})
  expect(await textsOf({})).toEqual([fact])
})

describe('I20: http', () => {
  test('get answers text, cut at max_chars', async () => {
    const { call } = createTools(
      async () =>
        new Response('a😀bcdef', { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
    )
    expect(await call('http__get', { url: 'https://example.com/', max_chars: 2 })).toEqual({
      status: 200,
      content_type: 'text/plain; charset=utf-8',
      text: 'a',
      truncated: true,
    })
    expect(await call('http__get', { url: 'https://example.com/' })).toMatchObject({
      text: 'a😀bcdef',
    })
  })

  test.each([
    ['a 503', async () => new Response('', { status: 503 })],
    [
      'a network fault',
      async () => {
        throw new Error('reset')
      },
    ],
  ])('get tries again once after %s', async (_what, fault) => {
    let count = 0
    const { call } = createTools(async () => ((count += 1) === 1 ? fault() : new Response('fine')))
    expect(await call('http__get', { url: 'https://example.com/' })).toMatchObject({ text: 'fine' })
    expect(count).toBe(2)
  })

  test('get gives up after two tries and does not repeat a 404', async () => {
    const statuses: number[] = []
    const answering = (status: number) =>
      createTools(async () => (statuses.push(status), new Response('', { status }))).call(
        'http__get',
        { url: 'https://example.com/' },
      )
    expect(await answering(500)).toEqual({
      code: 'tool_failed',
      message: 'The page answered 500.',
      transient: true,
    })
    expect(await answering(404)).toEqual({ code: 'tool_failed', message: 'The page answered 404.' })
    expect(statuses).toEqual([500, 500, 404])
  })

  test('request sends method, headers and body once and answers any status', async () => {
    const sent: unknown[] = []
    const { call } = createTools(async (url, { method, body, headers }) => {
      sent.push([url, method, body, new Headers(headers).get('idempotency-key')])
      return new Response('{"error":1}', {
        status: 500,
        headers: { 'content-type': 'application/json' },
      })
    })
    const input = { method: 'POST', url: 'https://example.com/x', headers: { a: 'b' }, body: '{}' }
    expect(await call('http__request', input)).toEqual({
      status: 500,
      content_type: 'application/json',
      text: '{"error":1}',
    })
    expect(sent).toEqual([['https://example.com/x', 'POST', '{}', 'run_1:call_1']])
  })

  const closed = { rule: async () => ({ hosts: [], elsewhere: 'ask' as const }), ownHosts: [] }
  const evil = { url: 'https://evil.example/?d=1' }

  test('says where a call goes, so that the policy can decide before', () => {
    const { entries } = createTools()
    expect(entries.get('http__get')!.goesTo!(evil)).toEqual({ method: 'GET', ...evil })
    const post = { method: 'POST', ...evil }
    expect(entries.get('http__request')!.goesTo!(post)).toEqual(post)
    expect(entries.get('kv__set')!.goesTo).toBeUndefined()
  })

  test('reaches no host that is not open, but for a call that a person approved, and there only', async () => {
    const { call } = createTools(undefined, closed)
    expect(await call('http__get', evil)).toMatchObject({
      message: expect.stringContaining('isola http allow evil.example') as string,
    })
    expect(await call('http__get', evil, { isApproved: true })).toMatchObject({ status: 200 })
    const unknown = { rule: async () => undefined, ownHosts: [] }
    expect(await createTools(undefined, unknown).call('http__get', evil)).toMatchObject({
      code: 'tool_failed',
    })
    const away = createTools(async () => Response.redirect('https://other.example/', 302), closed)
    expect(await away.call('http__get', evil, { isApproved: true })).toMatchObject({
      message: expect.stringContaining('isola http allow other.example') as string,
    })
  })

  test('neither reaches an address inside', async () => {
    const { call } = createTools()
    expect(await call('http__get', { url: 'https://169.254.169.254/' })).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('refused') as string,
    })
  })
})
