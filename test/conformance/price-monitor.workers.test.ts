import { expect, it, vi } from 'vitest'
import priceMonitor from 'isolated:plugins/price-monitor'
import type { JsonObject } from '#contracts/json.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { isolate, isolatedEntries } from '../fakes/isolates.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { describeTool } from './describe-tool.ts'
import { createShop } from './price-monitor-world.ts'
import { toSubject } from './tool-subject.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const { isolate: toIsolated } = await import('../fakes/isolates.ts')
  const { default: folder } = await import('isolated:plugins/price-monitor')
  const bundledPlugins: readonly BundledPlugin[] = [toIsolated(folder, 'builtin')]
  return { bundledPlugins }
})
// The Worker was loaded before this file: the next request loads it anew, with the plugin above.

function open() {
  const { deps, prices } = createShop()
  const sessions = createFakeGateway()
  const { scopedStorage } = createCapabilityDeps()
  const folder = { ...priceMonitor, manifest: { ...priceMonitor.manifest, enabled: true } }
  const entries = isolatedEntries(isolate(folder, 'builtin'), { ...deps, sessions, scopedStorage })
  return { entries, sessions, prices }
}

const kettle = 'https://shop.example.com/kettle'

describeTool('price-monitor__watch, in an isolate', {
  inputs: {
    succeed: { url: kettle, name: 'Kettle' },
    invalid: { url: kettle },
    fail: [{ url: 'https://shop.example.com/gone', name: 'Gone' }],
    hang: { url: 'https://shop.example.com/hang', name: 'Slow' },
  },
  create: () => {
    const { entries, sessions } = open()
    return toSubject(entries, 'price-monitor__watch', sessions)
  },
})

it('Y10, Y32: schedule and agent answer in an isolate as they do in process', async () => {
  const { entries, prices } = open()
  const call = async (name: string, input: JsonObject) => {
    const { tool } = entries.find((one) => one.tool.name === `price-monitor__${name}`)!
    const result = await tool.execute(input, createToolContext())
    return result.ok ? result.output : result.error
  }
  await call('watch', { url: kettle, name: 'Kettle' })
  expect(await call('execute', {})).toEqual({})
  prices.set('/kettle', '20')
  const text = `Kettle: 40.00 EUR → 20.00 EUR (-50.0 %) ${kettle}`
  expect(await call('run', { task: 'Check.' })).toBe(text)
  expect(await call('execute', {})).toEqual({})
})
