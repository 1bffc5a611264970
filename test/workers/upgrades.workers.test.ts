// @alone: it leaves an object and a database that nothing can open.
import { applyD1Migrations, evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import { lengthPrefixed, tablesVersion } from '#contracts/objects.ts'
import { routeTable } from '../../src/routes.gen.ts'
import { withTables, type ObjectKind, type UpgradeStep } from '../../src/compose/object-upgrades.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { stubOf } from '../fakes/objects.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** A binding without its methods, whose types are too deep for the compiler. */
const objectOf = (binding: keyof typeof env, name: string) =>
  (env[binding] as unknown as DurableObjectNamespace).getByName(name)
const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const errorOf = async (response: Response) => ((await response.json()) as Answer).error

/** What an object of each class answers after it was asked to keep something. */
interface Sample {
  readonly kind: ObjectKind
  readonly table: string
  /** Finds the object anew: a stub whose object has left stays broken. */
  readonly keep: () => Promise<() => DurableObjectStub>
  readonly read: (stub: DurableObjectStub) => Promise<unknown>
}
type Methods = Record<string, (...given: readonly unknown[]) => Promise<unknown>>
const methodsOf = (stub: DurableObjectStub) => stub as unknown as Methods
const item = { space: 's', key: 'a' }
const samples: readonly Sample[] = [
  {
    kind: 'Session',
    table: 'log',
    async keep() {
      const session = await newSession()
      return () => stubOf(session)
    },
    read: (stub) => methodsOf(stub)['about']!('operator'),
  },
  {
    kind: 'Principal',
    table: 'incidents',
    async keep() {
      const stub = () => objectOf('PRINCIPAL', 'upgraded')
      const incident = { kind: 'storage_failed', session: 'ses_1', message: 'kept' }
      await methodsOf(stub())['report']!(incident)
      return stub
    },
    read: async (stub) => Object(await methodsOf(stub)['incidents']!(9)).value,
  },
  {
    kind: 'Catalog',
    table: 'parts',
    async keep() {
      await callJson('/api/operator/policy', { json: { policy: { deny: ['kept__*'] } } })
      return () => objectOf('CATALOG', sha256(lengthPrefixed(['catalog'])))
    },
    read: async (stub) => Object(await methodsOf(stub)['parts']!(['policy'])).value,
  },
  {
    kind: 'PluginService',
    table: 'items',
    async keep() {
      const stub = () => objectOf('PLUGIN_SERVICE', 'upgraded')
      await methodsOf(stub())['storage']!({ ...item, verb: 'set', value: 1, quotaBytes: 1_000 })
      return stub
    },
    read: (stub) => methodsOf(stub)['storage']!({ ...item, verb: 'get' }),
  },
  {
    kind: 'McpServer',
    table: 'mcp_server',
    async keep() {
      const stub = () => objectOf('MCP_SERVER', 'upgraded')
      await methodsOf(stub())['addSigner']!('ann')
      return stub
    },
    read: (stub) => methodsOf(stub)['signers']!(),
  },
]
const rowsOf = ({ sql }: DurableObjectStorage, table: string) => [
  ...sql.exec(`SELECT * FROM ${table}`),
]

describe('the tables of an object', () => {
  it.each(samples)(
    'of $kind are brought to the next version once, with all that they have',
    async ({ kind, table, keep, read }) => {
      const stub = await keep()
      const told = await read(stub())
      let count = 0
      const step: UpgradeStep = {
        [kind]: ({ sql }: DurableObjectStorage) => {
          count += 1
          sql.exec(`ALTER TABLE ${table} ADD COLUMN later TEXT`)
        },
      }
      const next = { version: tablesVersion + 1, steps: [step] }
      await runInDurableObject(stub(), (_instance, state) => {
        const before = rowsOf(state.storage, table)
        withTables(kind, state, next)
        withTables(kind, state, next)
        expect(count).toBe(1)
        expect(rowsOf(state.storage, table)).toEqual(before.map((row) => ({ ...row, later: null })))
        expect(() => withTables(kind, state)).toThrow(
          `The ${kind} object ${state.id.toString()} was written by a newer version of Isola`,
        )
        // As if this were the version that the step belongs to.
        state.storage.sql.exec('DROP TABLE isola_tables_2')
      })
      await evictDurableObject(stub())
      expect(await read(stub())).toEqual(told)
    },
  )

  it('of a step that fails stay as they were, and what they have is read', async () => {
    const stub = await samples[0]!.keep()
    const told = await samples[0]!.read(stub())
    const step: UpgradeStep = {
      Session({ sql }) {
        sql.exec('ALTER TABLE log ADD COLUMN later TEXT')
        throw new Error('It cannot be done.')
      },
    }
    await runInDurableObject(stub(), (_instance, state) => {
      const to = { version: tablesVersion + 1, steps: [step] }
      expect(() => withTables('Session', state, to)).toThrow('It cannot be done.')
    })
    await evictDurableObject(stub())
    expect(await samples[0]!.read(stub())).toEqual(told)
  })

  it('of a build before the first release are refused with 503, and the sentence names the object', async () => {
    const session = await newSession()
    await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      const [body] = [...storage.sql.exec('SELECT body FROM log WHERE run = 0')]
      storage.sql.exec('DROP TABLE log')
      storage.sql.exec(`CREATE TABLE log (
        run INTEGER, turn INTEGER, part INTEGER, id TEXT, first_seq INTEGER, last_seq INTEGER,
        is_final INTEGER, body TEXT, PRIMARY KEY (run, turn, part)) WITHOUT ROWID`)
      const text = String(body!['body'])
      storage.sql.exec('INSERT INTO log VALUES (0, 0, 0, ?, NULL, NULL, 0, ?)', session, text)
    })
    await evictDurableObject(stubOf(session))
    for (const path of [`/api/sessions/${session}`, `/api/sessions/${session}/transcript`]) {
      const response = await call(path)
      expect(response.status).toBe(503)
      expect((await errorOf(response)).message).toMatch(
        /^The Session object \w+ was made by a build before the first release of Isola, is not read and was not changed: deploy/,
      )
    }
    const sent = await call(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
    expect(sent.status).toBe(503)
  })
})

describe('the database', () => {
  it('is brought to the next version by a migration, with all that it has', async () => {
    upstream = installUpstream(() => ({ text: 'hi' }))
    const added = await callJson('/api/operator/keys', { json: { principal: 'ann', role: 'user' } })
    const { keys } = await callJson('/api/operator/keys')
    const later = {
      name: '0002_later.sql',
      queries: [
        'ALTER TABLE keys ADD COLUMN later TEXT',
        'CREATE TABLE later (id TEXT PRIMARY KEY)',
      ],
    }
    await applyD1Migrations(env.DB, [...env.TEST_MIGRATIONS, later])
    expect((await callJson('/api/operator/keys')).keys).toEqual(keys)
    const found = await env.DB.prepare('SELECT id, later FROM keys').all()
    expect(found.results).toContainEqual({ id: added.id, later: null })
    const { migrations } = await callJson('/api/operator/health')
    expect(migrations).toMatchObject({ state: 'ready' })
  })

  it('of a build before the first release is refused with 503, and left as it is', async () => {
    await env.DB.batch([
      env.DB.prepare('DELETE FROM d1_migrations'),
      env.DB.prepare(`INSERT INTO d1_migrations (name) VALUES ('0001_init.sql')`),
    ])
    const { composeRuntime } = await import('../../src/compose/composition.ts')
    const { createHttpApp } = await import('../../src/surfaces/http/app.ts')
    const app = createHttpApp(composeRuntime(env as unknown as Env).http, routeTable)
    const headers = { authorization: 'Bearer isk_test_operator_key' }
    const request = new Request('http://isola.test/v1/models', { headers })
    const response = await app.fetch(request, env as never)
    expect(response.status).toBe(503)
    expect((await errorOf(response)).message).toBe(
      'The database (DB) was made by a build before the first release of Isola, is not read and was not changed: give this version a database of its own (docs/upgrading.md).',
    )
    const { results } = await env.DB.prepare('SELECT name FROM d1_migrations').all()
    expect(results).toEqual([{ name: '0001_init.sql' }])
  })
})
