import { vi } from 'vitest'
import caller from 'isolated:test/fixtures/plugins/caller'
import conformance from 'isolated:test/fixtures/plugins/conformance'
import offers from 'isolated:test/fixtures/plugins/offers'
import fixtures from 'isolated:test/fixtures/plugins/mcp-fixtures'
import files from 'isolated:plugins/files'
import http from 'isolated:plugins/http'
import kv from 'isolated:plugins/kv'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import type { FakeDeps } from '../fakes/plugins.ts'
import { connectedTools } from '../fakes/connected.ts'
import { isolate, isolatedEntries, loadIsolated, type Folder } from '../fakes/isolates.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { describeAsking } from './describe-asking.ts'
import { describeTool, type ToolSubject } from './describe-tool.ts'
import { promptInputs, resourceInputs } from './offer-inputs.ts'
import { countedSubject } from './tool-subject.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const { isolate: toIsolated } = await import('../fakes/isolates.ts')
  const folders = await Promise.all([
    import('isolated:test/fixtures/plugins/caller'),
    import('isolated:test/fixtures/plugins/conformance'),
    import('isolated:test/fixtures/plugins/offers'),
    import('isolated:test/fixtures/plugins/mcp-fixtures'),
    import('isolated:plugins/files'),
    import('isolated:plugins/http'),
    import('isolated:plugins/kv'),
  ])
  const bundledPlugins: readonly BundledPlugin[] = folders.map((folder) =>
    toIsolated(folder.default, 'community'),
  )
  return { bundledPlugins }
})

interface Subject {
  readonly folder: Folder
  readonly tool: string
  readonly tier?: TrustTier
  readonly deps?: FakeDeps
}

function subjectOf({ folder, tool, tier = 'community', deps }: Subject): ToolSubject {
  const sessions: SessionGateway = createFakeGateway()
  const entries = isolatedEntries(isolate(folder, tier), { sessions, ...deps })
  const entry = entries.find(({ tool: { name } }) => name.endsWith(`__${tool}`))
  if (!entry) throw new Error(`no ${tool} among ${entries.map((one) => one.tool.name)}`)
  return countedSubject(entry, sessions)
}

/** A tool of the plugin that calls others, each in an isolate of its own. */
function callerSubject(tool: string): ToolSubject {
  const sessions: SessionGateway = createFakeGateway()
  const plugins = [caller, conformance].map((folder) => loadIsolated(isolate(folder, 'community')))
  return countedSubject(connectedTools(plugins, { sessions })(tool), sessions)
}

describeTool("X3: a plugin's tool, in an isolate", {
  inputs: {
    succeed: { how: 'succeed' },
    invalid: { how: 'sing' },
    fail: [{ how: 'fail' }, { how: 'crash' }],
    hang: { how: 'hang' },
    long: { how: 'answer-at-length' },
  },
  create: () => subjectOf({ folder: conformance, tool: 'act' }),
})

describeTool("a plugin's tool that calls another, in isolates", {
  inputs: {
    succeed: { how: 'succeed' },
    invalid: { how: 'sing' },
    fail: [{ how: 'fail' }, { how: 'crash' }],
    hang: { how: 'hang' },
    long: { how: 'answer-at-length' },
  },
  create: () => callerSubject('caller__relay'),
})

describeTool('an agent with code of its own, in an isolate', {
  inputs: {
    succeed: { task: 'succeed' },
    invalid: { context: 'no task' },
    fail: [{ task: 'fail' }, { task: 'crash' }],
    hang: { task: 'hang' },
    long: { task: 'answer-at-length' },
  },
  create: () => callerSubject('caller__run'),
})

describeTool('kv__set, in an isolate', {
  inputs: {
    succeed: { key: 'a', value: { b: [1] } },
    invalid: { key: 7 },
    fail: [{ key: 'a', value: 'x'.repeat(1024 * 1024) }],
  },
  create: () => subjectOf({ folder: kv, tool: 'set' }),
})

describeTool('files__read, in an isolate', {
  inputs: {
    succeed: { path: 'a.txt' },
    invalid: { path: '' },
    fail: [{ path: '../etc/passwd' }, { path: 'none.txt' }],
    long: { path: 'long.txt', max_chars: 200_000 },
  },
  create: async () => {
    const sessions = createFakeGateway()
    return subjectOf({
      folder: files,
      tool: 'read',
      tier: 'builtin',
      deps: { sessions: filled(sessions) },
    })
  },
})

/** A workspace with two files. */
function filled(sessions: SessionGateway): SessionGateway {
  const texts = new Map([
    ['a.txt', 'one'],
    ['long.txt', `${'lorem '.repeat(6_000)}NEEDLE${' ipsum'.repeat(500)}`],
  ])
  return {
    ...sessions,
    at: (session) => ({
      ...sessions.at(session),
      async storage(request) {
        const value = 'key' in request ? texts.get(request.key) : undefined
        return value === undefined ? sessions.at(session).storage(request) : { found: true, value }
      },
    }),
  }
}

/** A network of pages that answer by their path. */
const network: NonNullable<FakeDeps['fetch']> = async (url, { signal }) => {
  const { pathname } = new URL(url)
  if (pathname === '/hang')
    return new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(new Error('stopped'))),
    )
  if (pathname === '/missing') return new Response('no', { status: 404 })
  return new Response(
    pathname === '/long' ? `${'lorem '.repeat(6_000)}NEEDLE${' ipsum'.repeat(500)}` : 'hello',
  )
}

describeTool('http__get, in an isolate', {
  inputs: {
    succeed: { url: 'https://example.com/' },
    invalid: { url: '' },
    fail: [{ url: 'https://example.com/missing' }, { url: 'https://127.0.0.1/' }],
    hang: { url: 'https://example.com/hang' },
    long: { url: 'https://example.com/long', max_chars: 200_000 },
  },
  create: () => subjectOf({ folder: http, tool: 'get', tier: 'builtin', deps: { fetch: network } }),
})

describeTool('P14: the resources of a plugin, in an isolate', {
  inputs: resourceInputs,
  create: () => subjectOf({ folder: offers, tool: 'read_resource' }),
})

describeTool('P14: the prompts of a plugin, in an isolate', {
  inputs: promptInputs,
  create: () => subjectOf({ folder: offers, tool: 'get_prompt' }),
})

describeAsking('in an isolate', (request) => {
  const asked = request ? { ...Object(fixtures.manifest), grants: { request } } : fixtures.manifest
  const deps = { validator: createSchemaValidator() }
  return isolatedEntries(isolate({ ...fixtures, manifest: asked as object }, 'community'), deps)
})
