import { beforeEach, describe, expect, it } from 'vitest'
import { defaultToolPolicy, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import {
  exposureOf,
  noGeneration,
  pinsOf,
  pinsOfOneValue,
  policyOf,
  type Generation,
  type Pins,
} from '../../../src/runtime/catalog/types/generation.ts'
import { createPluginStore } from '../../../src/features/plugins/store/plugins.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import before from '../../fixtures/stored/generations-n-1.json' with { type: 'json' }

function open() {
  const { database, sqlite } = createSqliteDatabase()
  const store = createPluginStore(database)
  let current: Generation = noGeneration
  const commit = async (pins: Pins, was = current): Promise<Generation> => {
    const number = was.number + 1
    const { isOneValue: isAnew } = await store.facts({})
    const event = { type: 'policy_changed', data: { added: [], removed: [] } } as const
    await store.commit({
      rows: [],
      generation: {
        number,
        pins: { ...was.pins, ...pins },
        before: was,
        isAnew,
        reason: 'policy_changed',
      },
      event: { ...event, principal: 'operator', trace: 't', atMs: 1 },
    })
    return (current = { number, pins: { ...was.pins, ...pins } })
  }
  const loadBefore = () => {
    for (const { number, plugins, reason } of before.generations)
      sqlite
        .prepare('INSERT INTO generations VALUES (?, ?, ?, ?, ?)')
        .run(number, plugins, reason, 'operator', 1)
    for (const { generation, policy } of before.policies)
      sqlite
        .prepare('INSERT INTO policies VALUES (?, ?, ?, ?)')
        .run(generation, policy, 'operator', 1)
    for (const { generation, exposure } of before.exposures)
      sqlite
        .prepare('INSERT INTO exposures VALUES (?, ?, ?, ?)')
        .run(generation, exposure, 'operator', 1)
  }
  const rows = () =>
    Number(sqlite.prepare('SELECT COUNT(*) AS count FROM generation_parts').get()!['count'])
  return { store, commit, loadBefore, rows }
}

const plugin = (id: string, hash = `hash-of-${id}`) =>
  ({
    id,
    hash,
    version: '1.0.0',
    tier: 'community',
    grantEpoch: 1,
    config: {},
  }) as unknown as NonNullable<Pins['plugin']>[number]
const hashes = (generation: Generation | undefined) =>
  pinsOf(generation ?? noGeneration, 'plugin').map(({ hash }) => hash)

let host: ReturnType<typeof open>
beforeEach(() => (host = open()))

describe('a generation', () => {
  it('P17: is put together from its parts, each as it was then', async () => {
    await host.commit({ plugin: [plugin('a'), plugin('b')] })
    await host.commit({ plugin: [plugin('a', 'other'), plugin('b')] })
    await host.commit({ plugin: [plugin('b')], bundled: [{ id: 'kv', state: 'disabled' }] })
    expect(hashes(await host.store.generation(1))).toEqual(['hash-of-a', 'hash-of-b'])
    expect(hashes(await host.store.generation(2))).toEqual(['other', 'hash-of-b'])
    expect(await host.store.generation()).toEqual({
      number: 3,
      pins: { plugin: [plugin('b')], bundled: [{ id: 'kv', state: 'disabled' }] },
    })
    expect(await host.store.newestNumber()).toBe(3)
    expect(
      (await host.store.generations(2)).map(({ plugins }) => plugins.map(({ id }) => id)),
    ).toEqual([['b'], ['a', 'b']])
  })

  it('E9: is listed with the one before as long as both name ten thousand plugins at most', async () => {
    const many = Array.from({ length: 6_000 }, (_one, at) => plugin(`p${at}`))
    await host.commit({ plugin: [plugin('a')] })
    await host.commit({ plugin: many })
    await host.commit({ plugin: many.slice(1) })
    const listed = async () => (await host.store.generations(100)).map(({ number }) => number)
    expect(await listed()).toEqual([3])
    await host.commit({ plugin: many.slice(0, 4_000) })
    expect(await listed()).toEqual([4, 3])
  })

  it('writes what it changes, however much is in force', async () => {
    const many = Array.from({ length: 3_000 }, (_one, at) =>
      plugin(`p${String(at).padStart(4, '0')}`),
    )
    await host.commit({ plugin: many })
    expect([host.rows(), hashes(await host.store.generation())]).toEqual([
      3_000,
      hashes({ number: 1, pins: { plugin: many } }),
    ])
    await host.commit({ plugin: [...many, plugin('q')] })
    expect(host.rows()).toBe(3_001)
    expect(hashes(await host.store.generation())).toHaveLength(3_001)
  })

  it('a version before is found by one look, also of what was stored as one value', async () => {
    host.loadBefore()
    const now = await host.store.generation()
    const was = { id: 'a', hash: 'hash-of-a-2', after: 0 }
    expect(await host.store.earlier(was)).toMatchObject({ version: '1.0.0', hash: 'hash-of-a-1' })
    expect(await host.store.earlier({ ...was, after: 2 })).toBeUndefined()
    await host.commit({ plugin: [plugin('a', 'third')] }, now)
    expect(await host.store.earlier({ ...was, hash: 'third' })).toMatchObject({
      hash: 'hash-of-a-2',
    })
  })
})

describe('generations of the version before', () => {
  beforeEach(() => host.loadBefore())

  it('P12: are read as they were, each with the policy and the choice of its time', async () => {
    const newest = (await host.store.generation())!
    expect(newest.number).toBe(3)
    expect(hashes(newest)).toEqual(['hash-of-a-2', 'hash-of-b'])
    expect(newest.pins.bundled).toEqual([{ id: 'web-search', state: 'enabled' }])
    expect(pinsOf(newest, 'mcp').map(({ id, epoch }) => [id, epoch])).toEqual([['srv', 2]])
    expect(policyOf(newest)).toMatchObject({
      deny: ['kv__*'],
      network: { hosts: [], elsewhere: 'ask' },
    })
    expect(exposureOf(newest).tools).toEqual(['a__*'])
    const first = (await host.store.generation(1))!
    expect([first.pins.policy, first.pins.exposure]).toEqual([undefined, undefined])
    expect((await host.store.generations(3)).map(({ plugins }) => plugins.length)).toEqual([
      2, 1, 1,
    ])
  })

  it('go on in parts with the next change, and can be restored from then on too', async () => {
    const was = (await host.store.generation())!
    await host.commit({ plugin: [plugin('a', 'third')] }, was)
    const now = (await host.store.generation())!
    expect([now.number, hashes(now)]).toEqual([4, ['third']])
    expect([policyOf(now), exposureOf(now), now.pins.mcp]).toEqual([
      policyOf(was),
      exposureOf(was),
      was.pins.mcp,
    ])
    expect(await host.store.generation(3)).toEqual(was)
  })

  it('what an object kept of one is the same set', () => {
    const { plugins } = before.generations[2]!
    const { policy } = before.policies[0]!
    const value = { ...JSON.parse(plugins), policy: JSON.parse(policy) }
    expect(pinsOfOneValue(value)).toMatchObject({
      bundled: [{ id: 'web-search', state: 'enabled' }],
      policy: [{ policy: { deny: ['kv__*'] } }],
    })
  })

  it('T11: a policy that says nothing of labels has the rules that ship, in its sections none', () => {
    const { labels: _, ...stored } = defaultToolPolicy
    const principals = { ana: { deny: ['kv__*'] } }
    const pin = {
      id: 'policy',
      policy: { ...stored, principals } as unknown as ToolPolicy,
    } as const
    expect(policyOf({ pins: { policy: [pin] } })).toEqual({
      ...defaultToolPolicy,
      principals: { ana: { deny: ['kv__*'], allow_destructive: [], labels: [] } },
    })
  })
})
