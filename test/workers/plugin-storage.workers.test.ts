import { env } from 'cloudflare:workers'
import { evictDurableObject } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import type { PluginStorage } from '#features/plugins/types/plugin.ts'
import { createScopedStorage } from '../../src/features/plugins/capabilities/storage/scoped-storage.ts'
import { openCapabilities } from '../../src/features/plugins/capabilities/capabilities.ts'
import { bundle, createCapabilityDeps, loadOne } from '../fakes/plugins.ts'
import { sha256 } from '../fakes/kernel.ts'
import { createToolContext } from '../fakes/tool-context.ts'

/** The bindings without their methods, whose types are too deep for the compiler. */
const services = env.PLUGIN_SERVICE as unknown as DurableObjectNamespace
const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
const names: string[] = []
const scopedStorage = createScopedStorage({
  principals,
  services: { getByName: (name) => (names.push(name), services.getByName(name)) },
  sha256,
})
const deps = createCapabilityDeps({ scopedStorage })

function storageOf(id: string, scope: string, principal: string, quota = '1mb'): PluginStorage {
  const plugin = loadOne(bundle({ id, grants: { storage: { quota, scope } } }))
  const context = createToolContext({ principal, rootSession: `ses_${Math.random()}` })
  return openCapabilities(plugin, context, deps).capabilities.storage
}

describe.each(['principal', 'deployment'])('P23: storage of scope %s', (scope) => {
  const one = storageOf('one', scope, 'alice')

  it('is there in another session, and after its object was away', async () => {
    await one.set('a', { by: 'alice' })
    if (scope === 'deployment') await evictDurableObject(services.getByName(names.at(-1)!))
    const again = storageOf('one', scope, 'alice')
    expect([await again.get('a'), await again.list()]).toEqual([{ by: 'alice' }, ['a']])
  })

  it('of one plugin is not seen, changed or listed by another', async () => {
    await one.set('a', 1)
    const two = storageOf('two', scope, 'alice')
    expect([await two.get('a'), await two.list(), await two.delete('a')]).toEqual([
      undefined,
      [],
      false,
    ])
    await two.set('a', 2)
    expect(await one.get('a')).toBe(1)
  })

  it(`is ${scope === 'principal' ? 'not ' : ''}seen by another principal`, async () => {
    await one.set('a', 1)
    const other = storageOf('one', scope, 'bob')
    expect(await other.get('a')).toBe(scope === 'principal' ? undefined : 1)
  })

  it('has the quota of the grant', async () => {
    const small = storageOf('small', scope, 'alice', '1kb')
    await small.set('a', 'x'.repeat(600))
    await expect(small.set('b', 'x'.repeat(600))).rejects.toThrow('quota of 1024 bytes')
    await small.set('a', 'x'.repeat(900))
    expect(await small.list()).toEqual(['a'])
  })
})

it('T2: no name of a principal or plugin opens the object of another one', async () => {
  const crafted = ['alice', '5:alice', 'alice9:principal', 'plugin-service', 'operator']
  for (const principal of crafted)
    await storageOf('kv', 'principal', principal).set('who', principal)
  for (const principal of crafted)
    expect(await storageOf('kv', 'principal', principal).get('who')).toBe(principal)
})

it('a plugin that is removed leaves nothing, and takes nothing of another along', async () => {
  const own = ['principal', 'deployment'].map((scope) => storageOf('gone', scope, 'alice'))
  const others = ['principal', 'deployment'].map((scope) => storageOf('stays', scope, 'alice'))
  for (const storage of [...own, ...others]) await storage.set('a', 1)
  for (let times = 0; times < 2; times += 1) await scopedStorage.clear('gone', ['alice', 'nobody'])
  expect(await Promise.all(own.map((storage) => storage.get('a')))).toEqual([undefined, undefined])
  expect(await Promise.all(others.map((storage) => storage.get('a')))).toEqual([1, 1])
})

it('the spending of a principal is stored beside the data that plugins keep for it', async () => {
  await storageOf('kv', 'principal', 'carol').set('a', 1)
  const stub = principals.getByName(sha256('9:principal5:carol')) as unknown as {
    usage: (limits: object) => Promise<{ ok: boolean }>
  }
  expect(await stub.usage({ tokens: 1, costNanoUsd: 1 })).toMatchObject({ ok: true })
})
