import { describe, expect, test } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { Capabilities } from '#features/plugins/types/plugin.ts'
import type { SharedFrom } from '#contracts/manifest/agent-manifest.ts'
import type { StorageRequest } from '#contracts/space.ts'
import { spanIdOf } from '#contracts/trace.ts'
import { openCapabilities } from '../../../../src/features/plugins/capabilities/capabilities.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createFakeGateway } from '../../../fakes/session-gateway.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

function open(grants: Record<string, unknown>, deps = createCapabilityDeps(), id = 'demo') {
  const context = createToolContext({ session: 'ses_child', rootSession: 'ses_root' })
  return {
    context,
    ...openCapabilities(loadOne(bundle({ id, grants })), context, deps).capabilities,
  }
}

describe('a capability that was not granted', () => {
  const { storage, workspace, memory, fetch } = open({})
  test.each([
    ['storage', () => storage.get('a')],
    ['workspace', () => workspace.set('a', 1)],
    ['memory', () => memory.append('a')],
    ['network', () => fetch('https://example.com')],
  ])('%s says no and how to ask for it', async (what, use) => {
    await expect(use()).rejects.toMatchObject({
      code: 'tool_failed',
      message: `not granted: ${what} (add it to grants in plugin.yaml)`,
    })
  })

  test('is on the record, once a call for each, however often it is tried', async () => {
    const { context, ...capabilities } = open({})
    for (let tries = 0; tries < 3; tries += 1) {
      await capabilities.storage.set('a', 1).catch(() => {})
      await capabilities.storage.get('a').catch(() => {})
      await capabilities.fetch('https://example.com').catch(() => {})
    }
    expect(context.events).toEqual([
      { type: 'capability_refused', data: { call: 'call_1', capability: 'storage' } },
      { type: 'capability_refused', data: { call: 'call_1', capability: 'network' } },
    ])
  })

  test('workspace and memory are for plugins that ship with the deployment', async () => {
    const plugin = {
      ...loadOne(bundle({ id: 'demo', grants: { workspace: true, memory: true } })),
      tier: 'community' as const,
    }
    const { capabilities } = openCapabilities(plugin, createToolContext(), createCapabilityDeps())
    await expect(capabilities.workspace.get('a')).rejects.toThrow('not granted: workspace')
    await expect(capabilities.memory.read()).rejects.toThrow('not granted: memory')
  })
})

describe('the network', () => {
  test('N7: is asked in the name of the span that the call is exported as', async () => {
    const asked: (string | null)[] = []
    const deps = createCapabilityDeps({
      fetch: async (_url, { headers }) => (
        asked.push(new Headers(headers).get('traceparent')),
        new Response('ok')
      ),
    })
    const grants = { network: [{ host: 'a.example', methods: ['GET'] }] }
    const { fetch, context } = { ...open(grants, deps) }
    await fetch('https://a.example/')
    const { trace, run, call } = context
    expect(asked).toEqual([`00-${trace}-${spanIdOf(run, call)}-01`])
  })
})

describe('storage', () => {
  test("N5: is the session's own, not that of the root of its tree", async () => {
    const gateway = createFakeGateway()
    const deps = createCapabilityDeps({ sessions: gateway })
    await open({ storage: '1mb' }, deps).storage.set('a', { b: 1 })
    expect([...gateway.storages.keys()]).toEqual(['ses_child'])
    expect(await open({ storage: '1mb' }, deps).storage.get('a')).toEqual({ b: 1 })
  })

  test('of one plugin is not seen by another', async () => {
    const deps = createCapabilityDeps()
    await open({ storage: '1mb' }, deps, 'one').storage.set('a', 1)
    expect(await open({ storage: '1mb' }, deps, 'two').storage.get('a')).toBeUndefined()
  })

  test.each([
    ['session', 'ses_child', 'plugin demo'],
    ['principal', 'principal operator', 'ses_child'],
    ['deployment', 'plugin demo', 'principal operator'],
  ])('of scope %s is kept in that object alone', async (scope, own, another) => {
    const gateway = createFakeGateway()
    const scopedStorage = {
      ofPrincipal: (principal: string) => gateway.at(`principal ${principal}`).storage,
      ofPlugin: (plugin: string) => gateway.at(`plugin ${plugin}`).storage,
    }
    const deps = createCapabilityDeps({ sessions: gateway, scopedStorage })
    await open({ storage: { quota: '1mb', scope } }, deps).storage.set('a', 1)
    expect([...gateway.storages.keys()]).toEqual([own])
    expect([...gateway.storages.keys()]).not.toContain(another)
  })

  test('passes the granted quota and its own space', async () => {
    const asked: StorageRequest[] = []
    const sessions = createFakeGateway({ storage: async (request) => (asked.push(request), {}) })
    await open({ storage: '512kb' }, createCapabilityDeps({ sessions })).storage.set('a', 1)
    expect(asked).toEqual([
      { verb: 'set', space: 'plugin:demo', key: 'a', value: 1, quotaBytes: 512 * 1024 },
    ])
  })

  test.each([
    ['an empty key', (s: ReturnType<typeof open>['storage']) => s.get('')],
    ['a long key', (s: ReturnType<typeof open>['storage']) => s.set('k'.repeat(513), 1)],
    [
      'a key that is no string',
      (s: ReturnType<typeof open>['storage']) => s.delete(7 as unknown as string),
    ],
    ['a limit of zero', (s: ReturnType<typeof open>['storage']) => s.list({ limit: 0 })],
    [
      'a value that is not JSON',
      (s: ReturnType<typeof open>['storage']) => s.set('a', new Date(0) as unknown as string),
    ],
    [
      'a value over 1 MiB',
      (s: ReturnType<typeof open>['storage']) => s.set('a', 'x'.repeat(1_048_577)),
    ],
  ])('refuses %s', async (_what, use) => {
    await expect(use(open({ storage: '9mb' }).storage)).rejects.toThrow()
  })

  test('a refusal is an error with its reason, not a silent loss', async () => {
    const sessions = createFakeGateway({
      storage: async () => ({ error: 'The storage quota of 5 bytes is used up.' }),
    })
    await expect(
      open({ storage: '1mb' }, createCapabilityDeps({ sessions })).storage.set('a', 1),
    ).rejects.toMatchObject({
      code: 'tool_failed',
      message: 'The storage quota of 5 bytes is used up.',
    })
  })

  test('an expected fault keeps its message, another one says nothing of the inside', async () => {
    const failing = (error: Error) =>
      open(
        { storage: '1mb' },
        createCapabilityDeps({
          sessions: createFakeGateway({
            storage: async () => {
              throw error
            },
          }),
        }),
      ).storage.get('a')
    await expect(
      failing(new IsolaError('tool_failed', 'The quota of 1mb is used up.')),
    ).rejects.toThrow('quota')
    await expect(failing(new Error('SQLITE_FULL at /secret'))).rejects.toMatchObject({
      message: 'The storage did not answer.',
      transient: true,
    })
  })
})

describe('N5: what a session keeps', () => {
  const grants = { workspace: true, memory: true, storage: '1kb' }
  const at = (deps: ReturnType<typeof createCapabilityDeps>, shared?: SharedFrom) => {
    const context = createToolContext({ session: 'ses_child', rootSession: 'ses_root', shared })
    return openCapabilities(loadOne(bundle({ id: 'demo', grants })), context, deps).capabilities
  }
  const allIn = async ({ workspace, memory, storage }: Capabilities) => [
    await workspace.list(),
    (await memory.read()).map(({ text }) => text),
    await storage.list(),
  ]

  test('is its own, at the root of its tree too', async () => {
    const deps = createCapabilityDeps()
    const { workspace, memory, storage } = openCapabilities(
      loadOne(bundle({ id: 'demo', grants })),
      createToolContext(),
      deps,
    ).capabilities
    await workspace.set('a', 1)
    await memory.append('a')
    await storage.set('a', 1)
    expect(await allIn(at(deps))).toEqual([[], [], []])
    expect(await allIn(at(deps, { workspace: 'ses_root' }))).toEqual([['a'], [], []])
    const all = { workspace: 'ses_root', memory: 'ses_root', storage: 'ses_root' }
    expect(await allIn(at(deps, all))).toEqual([['a'], ['a'], ['a']])
  })
})

test('workspace and memory work with their grants', async () => {
  const { workspace, memory } = open({ workspace: true, memory: true })
  await workspace.set('src/a.ts', 'text')
  expect(await workspace.list({ prefix: 'src/' })).toEqual(['src/a.ts'])
  await memory.append('the invoice service times out')
  await memory.append('lunch is at noon')
  expect((await memory.search('invoice')).map(({ text }) => text)).toEqual([
    'the invoice service times out',
  ])
})

test('log and progress are events with a capped message and a capped number', () => {
  const { log, progress, context } = open({})
  log('x'.repeat(3_000))
  progress('half')
  for (let count = 0; count < 500; count += 1) log('flood')
  expect(context.events[0]).toEqual({
    type: 'tool_log',
    data: { call: 'call_1', message: 'x'.repeat(2_000) },
  })
  expect(context.events[1]).toEqual({
    type: 'tool_progress',
    data: { call: 'call_1', message: 'half' },
  })
  expect(context.events).toHaveLength(200)
})
