import { describe, expect, it } from 'vitest'
import type { McpCall, McpCaller, McpPin } from '#runtime/catalog/types/mcp.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { toSignature } from '../../src/runtime/catalog/signatures.ts'
import {
  toOfferEntries,
  toOffers,
  fitsTemplate,
} from '../../src/features/mcp-servers/offer-entries.ts'
import { toServerEntries } from '../../src/features/mcp-servers/server-entries.ts'
import { createLinkWorld, sha256 } from '../fakes/mcp-link.ts'
import { createFakeMcp } from '../fakes/mcp-server.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { describeTool } from './describe-tool.ts'
import { toSubject } from './tool-subject.ts'

const say = {
  name: 'say',
  description: 'Says it.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', minLength: 1 } },
    required: ['text'],
  },
  annotations: { readOnlyHint: true, idempotentHint: true },
}

const done = (result: object) => ({ resultType: 'complete', ...result })
const answers: Readonly<Record<string, () => unknown>> = {
  fail: () => done({ isError: true, content: [{ type: 'text', text: 'It did not work.' }] }),
  hang: () => new Promise(() => {}),
  status: () => new Response(null, { status: 500 }),
  long: () =>
    done({ content: [{ type: 'text', text: `${'x'.repeat(60_000)}NEEDLE${'y'.repeat(500)}` }] }),
}

async function open(confirmed: readonly string[] = []) {
  const server = createFakeMcp({
    tools: [say],
    more: {
      'tools/call': (params) => {
        const { text } = Object(params['arguments'])
        return answers[text]?.() ?? done({ content: [{ type: 'text', text }] })
      },
      'resources/list': () =>
        done({
          resources: [{ uri: 'notes://a', name: 'a', description: 'A note.' }],
          ttlMs: 0,
          cacheScope: 'private',
        }),
      'resources/templates/list': () =>
        done({
          resourceTemplates: [{ uriTemplate: 'notes://{id}/text', name: 't' }],
          ttlMs: 0,
          cacheScope: 'private',
        }),
      'resources/read': ({ uri }) =>
        done({
          contents: [{ uri, text: `text of ${String(uri)}` }],
          ttlMs: 0,
          cacheScope: 'private',
        }),
      'prompts/list': () =>
        done({
          prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
          ttlMs: 0,
          cacheScope: 'private',
        }),
      'prompts/get': (params) =>
        done({
          messages: [
            {
              role: 'user',
              content: { type: 'text', text: `Greet ${Object(params['arguments']).who}.` },
            },
          ],
        }),
    },
  })
  const world = createLinkWorld(server)
  const { items } = await world.look()
  const pin: McpPin = {
    id: 'srv',
    config: world.config,
    hash: 'h',
    confirmed,
    epoch: 1,
    addedAtMs: 0,
  }
  const deps = {
    at: () => ({
      call: (call: McpCall, tell: McpCaller['tell'], asked: McpCaller['asked']) =>
        world.call(call, { tell, asked }),
      cancel: async (id: string) => world.cancel(id),
    }),
    watchRevocation: async () => ({ check: async () => {}, end: () => {} }),
    sha256,
    validator: createSchemaValidator(),
  }
  const entries = [...toServerEntries(pin, items, deps), ...toOfferEntries(pin, items, deps)]
  const run = async (name: string, input: Parameters<(typeof entries)[0]['tool']['execute']>[0]) =>
    entries.find(({ tool }) => tool.name === name)?.tool.execute(input, createToolContext())
  return { entries, items, run, server, pin, deps }
}

describeTool('a tool of a remote MCP server', {
  inputs: {
    succeed: { text: 'hello' },
    invalid: { text: '' },
    fail: [{ text: 'fail' }, { text: 'status' }],
    hang: { text: 'hang' },
    long: { text: 'long' },
  },
  create: async () => toSubject((await open()).entries, 'srv__say', createFakeGateway()),
})

describe('tools of a remote MCP server', () => {
  it('P32: what they say of their results is said of where a result has it', async () => {
    const { items, pin, deps } = await open()
    const outputSchema = { type: 'object', properties: { count: { type: 'integer' } } }
    const counted = items.map((item) => ({
      ...item,
      definition: { ...item.definition, outputSchema },
    }))
    const [entry] = toServerEntries(pin, counted, deps)
    expect(toSignature(entry!.tool)).toMatch(
      /\): Promise<\{ content: unknown\[\]; structured: \{ count\?: number \} \}>$/,
    )
    expect((await open()).entries[0]!.tool).not.toHaveProperty('outputSchema')
  })

  it('I3: its own word that a call may be repeated counts only where the operator confirmed it', async () => {
    const [claimed] = (await open()).entries
    expect(claimed).toMatchObject({ isReadOnly: false, isIdempotent: false })
    const [confirmed] = (await open(['say'])).entries
    expect(confirmed).toMatchObject({ isReadOnly: true, isIdempotent: true })
  })

  it('are denied once the server was switched off', async () => {
    const { pin, items, deps } = await open()
    const [entry] = toServerEntries(pin, items, {
      ...deps,
      watchRevocation: () => Promise.reject(new Error('off')),
    })
    expect(await entry?.tool.execute({ text: 'a' }, createToolContext())).toMatchObject({
      ok: false,
      error: { code: 'tool_denied' },
    })
  })

  it('N12: resources and prompts are read through two tools, and only those that were approved', async () => {
    const { run, entries, items, server } = await open()
    expect(await run('srv__read_resource', { uri: 'notes://a' })).toMatchObject({
      ok: true,
      output: {
        content: [{ type: 'resource', resource: { uri: 'notes://a', text: 'text of notes://a' } }],
      },
    })
    expect(await run('srv__read_resource', { uri: 'notes://7/text' })).toMatchObject({ ok: true })
    const before = server.seen.length
    for (const uri of ['notes://b', 'file:///etc/passwd'])
      expect(await run('srv__read_resource', { uri })).toMatchObject({ ok: false })
    expect(server.seen).toHaveLength(before)
    expect(
      await run('srv__get_prompt', { name: 'greet', arguments: { who: 'Ada' } }),
    ).toMatchObject({
      ok: true,
      output: { structured: { messages: [{ role: 'user', content: { text: 'Greet Ada.' } }] } },
    })
    expect(
      entries.find(({ tool }) => tool.name === 'srv__read_resource')?.tool.description,
    ).toContain('notes://a: A note.')
    expect(toOffers('srv', items)).toEqual({
      resources: [
        { owner: 'srv', uri: 'notes://a', isTemplate: false, name: 'a', description: 'A note.' },
        { owner: 'srv', uri: 'notes://{id}/text', isTemplate: true, name: 't' },
      ],
      prompts: [{ owner: 'srv', name: 'greet', arguments: [{ name: 'who', required: true }] }],
    })
  })

  it.each([
    ['a://{x}', 'a://b', true],
    ['a://{x}', 'a://', true],
    ['a://{x}/c', 'a://b/c', true],
    ['a://{x}/c/{y}/d', 'a://b/c/e/d', true],
    ['a://{x}/c', 'a://c', false],
    ['a://{x}', 'b://c', false],
    ['a://b', 'a://b/c', false],
    ['a://{x}aa', 'a://a', false],
  ])('%s and %s: %s', (template, uri, expected) => {
    expect(fitsTemplate(uri, template)).toBe(expected)
  })
})
