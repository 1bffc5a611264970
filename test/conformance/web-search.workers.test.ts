import { expect, it, vi } from 'vitest'
import webSearch from 'isolated:plugins/web-search'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { isolate, isolatedEntries } from '../fakes/isolates.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { describeTool } from './describe-tool.ts'
import { toSubject } from './tool-subject.ts'
import { createSearchWorld } from './web-search-world.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const { isolate: toIsolated } = await import('../fakes/isolates.ts')
  const { default: folder } = await import('isolated:plugins/web-search')
  const bundledPlugins: readonly BundledPlugin[] = [toIsolated(folder, 'community')]
  return { bundledPlugins }
})
// The Worker was loaded before this file: the next request loads it anew, with the plugin above.

function open() {
  const sessions = createFakeGateway()
  const { deps, sent } = createSearchWorld()
  const folder = { ...webSearch, manifest: { ...webSearch.manifest, enabled: true } }
  const entries = isolatedEntries(isolate(folder, 'community'), { ...deps, sessions })
  return { sessions, entries, sent }
}

describeTool('web-search__search, in an isolate', {
  inputs: {
    succeed: { query: 'workerd' },
    invalid: { query: '' },
    fail: [{ query: '500' }, { query: '401' }, { query: 'page' }],
    hang: { query: 'hang' },
  },
  create: () => {
    const { entries, sessions } = open()
    return toSubject(entries, 'web-search__search', sessions)
  },
})

it('Y32, P14: answers the same in an isolate, which never has the key', async () => {
  const { entries, sent } = open()
  const result = await entries[0]!.tool.execute({ query: 'workerd', count: 1 }, createToolContext())
  expect(result).toMatchObject({
    ok: true,
    output: { provider: 'brave', results: [{ title: 'cloudflare/workerd' }] },
  })
  expect(sent[0]?.headers['x-subscription-token']).toBe('brave-key-1')
})
