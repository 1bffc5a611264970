import { beforeEach, describe, expect, it } from 'vitest'
import {
  noGeneration,
  pinsOf,
  type Generation,
  type Pins,
} from '../../../src/runtime/catalog/types/generation.ts'
import { createPluginStore } from '../../../src/features/plugins/store/plugins.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

function open() {
  const { database, sqlite } = createSqliteDatabase()
  const store = createPluginStore(database)
  let current: Generation = noGeneration
  const commit = async (pins: Pins, was = current): Promise<Generation> => {
    const number = was.number + 1
    const event = { type: 'policy_changed', data: { added: [], removed: [] } } as const
    await store.commit({
      rows: [],
      generation: {
        number,
        pins: { ...was.pins, ...pins },
        before: was,
        reason: 'policy_changed',
      },
      event: { ...event, principal: 'operator', trace: 't', atMs: 1 },
    })
    return (current = { number, pins: { ...was.pins, ...pins } })
  }
  const rows = () =>
    Number(sqlite.prepare('SELECT COUNT(*) AS count FROM generation_parts').get()!['count'])
  return { store, commit, rows }
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

  it('a version before is found by one look', async () => {
    await host.commit({ plugin: [plugin('a', 'first')] })
    await host.commit({ plugin: [plugin('a', 'second')] })
    const was = { id: 'a', hash: 'second', after: 0 }
    expect(await host.store.earlier(was)).toMatchObject({ hash: 'first' })
    expect(await host.store.earlier({ ...was, after: 2 })).toBeUndefined()
    await host.commit({ plugin: [plugin('a', 'third')] })
    expect(await host.store.earlier({ ...was, hash: 'third' })).toMatchObject({ hash: 'second' })
  })
})
