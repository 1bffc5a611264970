import { describe, expect, it } from 'vitest'
import { createManifestStore } from '../../../src/features/plugins/store/manifests.ts'
import { systemSources } from '../../../src/compose/sources.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const kv = {
  id: 'kv',
  version: '1.0.0',
  hash: 'h1',
  manifest: { id: 'kv' },
  state: 'enabled',
} as const
const http = { ...kv, id: 'http', manifest: { id: 'http' } } as const

function open() {
  const { database, sqlite } = createSqliteDatabase()
  let nowMs = 0
  const clock = { nowMs: () => ++nowMs }
  const store = createManifestStore(database, { ...systemSources, clock })
  const changes = () => (sqlite.prepare('SELECT total_changes() AS n').get() as { n: number }).n
  return { store, sqlite, changes }
}

describe('the table of manifests', () => {
  it('M5: holds what the Worker carries', async () => {
    const { store } = open()
    await store.syncBundled([kv, http])
    expect(await store.list()).toEqual([
      { ...http, tier: 'builtin' },
      { ...kv, tier: 'builtin' },
    ])
  })

  it('writes nothing the second time', async () => {
    const { store, changes } = open()
    await store.syncBundled([kv, http])
    const before = changes()
    await store.syncBundled([kv, http])
    expect(changes()).toBe(before)
  })

  it('does not ask the database about plugins that an earlier call noted', async () => {
    const { store } = open()
    const noted = await store.syncBundled([kv])
    expect(await store.syncBundled([kv], noted)).toBe(noted)
    await store.syncBundled([kv, http], noted)
    expect(await store.list()).toHaveLength(2)
    await store.syncBundled([kv])
    // The table has one plugin now, and the note of two is believed.
    const both = await open().store.syncBundled([kv, http])
    await store.syncBundled([kv, http], both)
    expect((await store.list()).find(({ id }) => id === 'http')).toMatchObject({ state: 'removed' })
  })

  it('keeps switched off what the operator switched off, over a new version too', async () => {
    const { store, sqlite } = open()
    await store.syncBundled([kv])
    sqlite.exec(`UPDATE manifests SET state = 'disabled'`)
    await store.syncBundled([{ ...kv, version: '1.1.0', hash: 'h2' }])
    expect(await store.list()).toMatchObject([{ version: '1.1.0', hash: 'h2', state: 'disabled' }])
  })

  it('marks as removed what the Worker no longer carries, and takes it back', async () => {
    const { store } = open()
    await store.syncBundled([kv, http])
    await store.syncBundled([kv])
    expect((await store.list()).map(({ id, state }) => [id, state])).toEqual([
      ['http', 'removed'],
      ['kv', 'enabled'],
    ])
    await store.syncBundled([kv, http])
    expect((await store.list())[0]).toMatchObject({ id: 'http', state: 'enabled' })
  })

  it('does not touch what another tier installed', async () => {
    const { store, sqlite } = open()
    const values = `'kv', '9.0.0', 'other', 'community', '{}', 'installed', 1`
    sqlite.exec(
      `INSERT INTO manifests (id, version, hash, tier, manifest, state, updated_at_ms) VALUES (${values})`,
    )
    await store.syncBundled([kv])
    await store.syncBundled([])
    expect(await store.list()).toMatchObject([
      { version: '9.0.0', tier: 'community', state: 'installed' },
    ])
  })
})
