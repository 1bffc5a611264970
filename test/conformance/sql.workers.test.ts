import { env } from 'cloudflare:workers'
import { beforeAll, expect, it, vi } from 'vitest'
import sql from 'isolated:plugins/sql'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { toPluginDatabases } from '../../src/features/plugins/capabilities/storage/granted-database.ts'
import { isolate, isolatedEntries } from '../fakes/isolates.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { describeTool } from './describe-tool.ts'
import { toSubject } from './tool-subject.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const { isolate: toIsolated } = await import('../fakes/isolates.ts')
  const { default: folder } = await import('isolated:plugins/sql')
  const bundledPlugins: readonly BundledPlugin[] = [
    toIsolated({ ...folder, manifest: { ...folder.manifest, enabled: true } }, 'builtin'),
  ]
  return { bundledPlugins }
})
// The Worker was loaded before this file: the next request loads it anew, with the plugin above.

/** The second D1 binding of the tests (vitest.config.ts): workerd's own SQLite. */
const { SQL: shop } = env as unknown as { readonly SQL: D1Database }

beforeAll(async () => {
  await shop.prepare('DROP TABLE IF EXISTS orders').run()
  await shop.prepare('CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT)').run()
  await shop.prepare("INSERT INTO orders (customer) VALUES ('Ada'), ('Ada'), ('Bob')").run()
})

function open(tier: 'builtin' | 'community' = 'builtin', names = ['SQL']) {
  const sessions = createFakeGateway()
  const folder = { ...sql, manifest: { ...sql.manifest, enabled: true } }
  const databases = toPluginDatabases(names, env)
  const entries = isolatedEntries(isolate(folder, tier), { sessions, databases })
  const call = async (tool: string, text: string, parameters: readonly (string | number)[] = []) =>
    entries
      .find((entry) => entry.tool.name === tool)!
      .tool.execute({ sql: text, parameters }, createToolContext())
  return { sessions, entries, call }
}

describeTool('sql__query, in an isolate on D1', {
  inputs: {
    succeed: { sql: 'SELECT customer FROM orders WHERE id = ?', parameters: [1] },
    invalid: { sql: 7 },
    fail: [{ sql: 'DELETE FROM orders' }, { sql: 'SELECT none' }],
    long: { sql: "SELECT hex(zeroblob(20000)) || 'NEEDLE' || hex(zeroblob(1000)) AS a" },
  },
  create: () => {
    const { entries, sessions } = open()
    return toSubject(entries, 'sql__query', sessions)
  },
})

it("I20: D1's own errors are told, and its counts", async () => {
  const { call } = open()
  expect(await call('sql__query', 'SELECT missing FROM orders')).toMatchObject({
    error: { message: expect.stringMatching(/^SQLite: no such column: missing/) as string },
  })
  expect(await call('sql__query', 'WITH a AS (SELECT 1) DELETE FROM orders')).toMatchObject({
    error: { message: expect.stringMatching(/^SQLite: near "DELETE"/) as string },
  })
  expect(
    await call('sql__execute', 'UPDATE orders SET customer = ? WHERE customer = ?', ['Eve', 'Bob']),
  ).toMatchObject({ output: { changes: 1 } })
})

it.each([
  'SELECT 1; DELETE FROM orders',
  'DELETE FROM orders',
  "SELECT $x('); DELETE FROM orders --')",
])('G3: on D1 too, reading does not write: %s', async (text) => {
  const { call } = open()
  expect(await call('sql__query', text)).toMatchObject({ ok: false })
  expect(await call('sql__query', 'SELECT count(*) AS n FROM orders')).toMatchObject({
    output: { rows: [{ n: 3 }] },
  })
})

it("G3: the deployment's own database is out of reach, by name and by grant", async () => {
  expect([...toPluginDatabases(['DB'], env).keys()]).toEqual([])
  const folder = {
    ...sql,
    manifest: {
      ...sql.manifest,
      enabled: true,
      grants: { database: { binding: 'DB', access: 'write' } },
    },
  }
  const databases = toPluginDatabases(['DB', 'SQL'], env)
  const [query] = isolatedEntries(isolate(folder, 'builtin'), { databases })
  const answer = await query!.tool.execute({ sql: 'SELECT * FROM keys' }, createToolContext())
  expect(answer).toMatchObject({
    error: { message: expect.stringContaining('no database "DB"') as string },
  })
})

it('G3: code that did not come with the deployment gets no database', async () => {
  expect(await open('community').call('sql__query', 'SELECT 1')).toMatchObject({
    error: { message: expect.stringContaining('not granted: database') as string },
  })
})
