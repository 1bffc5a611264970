import { expect, it } from 'vitest'
import { createBundleStore } from '../../../src/features/plugins/store/bundles.ts'
import { createChangeFacts } from '../../../src/features/plugins/store/change-facts.ts'
import { createPluginStore } from '../../../src/features/plugins/store/plugins.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'

const nowMs = 1_000
const clock = { nowMs: () => nowMs }
const noNamespace = { get: async () => null, put: async () => {}, delete: async () => {} }

/** Generations 1 to 3, made at 100, 200 and 300, and a bundle for each name. */
function open() {
  const { database, sqlite } = createSqliteDatabase()
  for (const number of [1, 2, 3])
    sqlite.prepare(`INSERT INTO generations VALUES (?1, '', '', ?2)`).run(number, number * 100)
  const bundle = (hash: string, savedAtMs = 0) =>
    sqlite.prepare('INSERT INTO plugin_bundles VALUES (?1, 0, ?1, ?2)').run(hash, savedAtMs)
  const part = (hash: string, since: number, until: number | null, kind = 'plugin') => {
    bundle(hash)
    sqlite
      .prepare('INSERT INTO generation_parts VALUES (?1, ?2, ?3, ?4, ?5)')
      .run(kind, hash, since, until, JSON.stringify({ hash }))
  }
  const version = (hash: string, installedAtMs = 0) =>
    sqlite
      .prepare(
        `INSERT INTO plugin_versions (plugin, hash, version, tier, source, manifest, installed_by, installed_at_ms, size_bytes)
          VALUES ('p', ?1, '1.0.0', 'community', '', '{"id":"p"}', 'ada', ?2, 5)`,
      )
      .run(hash, installedAtMs)
  const bundles = createBundleStore({ database, namespace: noNamespace, sha256, clock })
  return { database, sqlite, bundle, part, version, bundles, kept: createPluginStore(database) }
}

it('names what was not in force since a moment, whatever its kind', async () => {
  const { part, kept } = open()
  part('gone', 1, 2)
  part('gone-server', 1, 2, 'mcp')
  part('then', 1, 3)
  part('later', 3, null)
  part('server', 2, null, 'mcp')
  part('skill', 2, 3, 'skill')
  expect([...(await kept.unnamed(250, 10))].toSorted()).toEqual(['gone', 'gone-server'])
  expect(await kept.unnamed(250, 1)).toHaveLength(1)
  // The second generation began at 200: parts that ended then do not count as in force since 201.
  expect([...(await kept.unnamed(201, 10))].toSorted()).toEqual(['gone', 'gone-server'])
  expect(await kept.unnamed(199, 10)).toEqual([])
  expect([...(await kept.unnamed(400, 10))].toSorted()).toEqual([
    'gone',
    'gone-server',
    'skill',
    'then',
  ])
})

it('a clock that went back keeps more, not less', async () => {
  const { sqlite, part, kept } = open()
  part('old', 1, 2)
  sqlite.exec('UPDATE generations SET made_at_ms = 1000 WHERE number = 2')
  expect(await kept.unnamed(900, 10)).toEqual([])
})

it('does not name what a plugin or a server has, or what came lately', async () => {
  const { sqlite, bundle, version, kept } = open()
  for (const hash of ['off', 'removed', 'approved', 'unsaid', 'orphan']) bundle(hash)
  bundle('saved', 600)
  bundle('brought')
  version('brought', 600)
  const row = sqlite.prepare(
    `INSERT INTO manifests (id, version, hash, tier, manifest, state, updated_at_ms)
      VALUES (?1, '1.0.0', ?1, 'community', '{}', ?2, 0)`,
  )
  row.run('off', 'disabled')
  row.run('removed', 'removed')
  sqlite.exec(`INSERT INTO mcp_servers (id, config, state, approved_hash, confirmed, epoch, added_by, added_at_ms)
    VALUES ('s', '{}', 'disabled', 'approved', '[]', 1, '', 0), ('t', '{}', 'removed', 'unsaid', '[]', 1, '', 0),
      ('u', '{}', 'added', NULL, '[]', 1, '', 0)`)
  const found = await kept.unnamed(500, 10)
  expect([...found].toSorted()).toEqual(['orphan', 'removed', 'unsaid'])
  expect(await kept.unnamed(700, 10)).toEqual(expect.arrayContaining(['brought', 'saved']))
})

it('finds them without reading the texts of bundles', async () => {
  const { sqlite } = open()
  const sql = 'SELECT hash FROM plugin_bundles WHERE part = 0 AND saved_at_ms < 5'
  expect(planOf(sqlite, sql)).toContain('COVERING INDEX plugin_bundles_saved')
})

it('the recent uploads of a principal are counted without reading the log of the deployment', async () => {
  const { sqlite, database } = open()
  const seen: string[] = []
  const prepare = (sql: string) => {
    seen.push(sql)
    return database.prepare(sql)
  }
  await createChangeFacts({ ...database, prepare })({
    usageOf: { principal: 'ada', sinceMs: 5 },
  })
  const plan = planOf(
    sqlite,
    seen.find((sql) => sql.includes('FROM audit'))!,
  )
  expect(plan).toContain('USING INDEX audit_plugin_added (principal=? AND at_ms>?)')
})

it('takes text and manifest away, and leaves what a version number meant', async () => {
  const { sqlite, database, bundle, version, bundles } = open()
  for (const hash of ['one', 'two']) {
    bundle(hash, hash === 'one' ? 0 : 900)
    version(hash)
  }
  await bundles.remove(['one', 'two'], 500)
  // The other was saved again meanwhile.
  expect(sqlite.prepare('SELECT hash FROM plugin_bundles').all()).toEqual([{ hash: 'two' }])
  const store = createPluginStore(database)
  expect((await store.versions(['p'])).map(({ hash }) => hash)).toEqual(['two'])
  expect(await store.version('p', 'one')).toBeUndefined()
  const facts = await store.facts({ id: 'p', usageOf: { principal: 'ada', sinceMs: 0 } })
  expect(facts.numbers).toEqual([
    { version: '1.0.0', hash: 'one' },
    { version: '1.0.0', hash: 'two' },
  ])
  expect(facts.usage).toEqual({ versions: 1, bytes: 5, adds: 0 })
  const taken = sqlite.prepare(`SELECT * FROM plugin_versions WHERE hash = 'one'`).get()
  expect(taken).toMatchObject({ manifest: '{}', collected_at_ms: nowMs })
})

it('a copy that cannot be taken away leaves the bundle where it is, for the next time', async () => {
  const { database, sqlite, bundle } = open()
  bundle('one')
  const namespace = {
    ...noNamespace,
    delete: async () => {
      throw new Error('away')
    },
  }
  const bundles = createBundleStore({ database, namespace, sha256, clock })
  await expect(bundles.remove(['one'], 500)).rejects.toThrow()
  expect(sqlite.prepare('SELECT hash FROM plugin_bundles').all()).toHaveLength(1)
})

it('P25: a copy that is lost, or is another text, is made again of what D1 has', async () => {
  const { database } = open()
  const near = new Map<string, string>()
  const namespace = {
    get: async (key: string) => near.get(key) ?? null,
    put: async (key: string, value: string) => void near.set(key, value),
    delete: async (key: string) => void near.delete(key),
  }
  const bundles = createBundleStore({ database, namespace, sha256, clock })
  const hash = sha256('text')
  await bundles.save(hash, 'text')
  const copied = [...near]
  near.clear()
  expect(await bundles.load(hash)).toBe('text')
  expect([...near]).toEqual(copied)
  near.set(copied[0]![0], 'other')
  expect(await bundles.load(hash)).toBe('text')
  expect([...near]).toEqual(copied)
})
