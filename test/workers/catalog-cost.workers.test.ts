import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseManifest, toPermit } from '../../src/runtime/catalog/types/permit.ts'
import { lengthPrefixed } from '../../src/contracts/objects.ts'
import { toBundleText } from '../../src/runtime/catalog/types/plugin-upload.ts'
import type {
  CatalogApi,
  ChangeBy,
  PluginChange,
} from '../../src/runtime/catalog/types/plugin-catalog.ts'
import { fromReply } from '../../src/contracts/reply.ts'
import { sha256 } from '../fakes/kernel.ts'
import { pluginBundle } from '../fakes/plugin-admin.ts'

const by: ChangeBy = { principal: 'operator', trace: 't', requestId: 'r', mayEnable: true }
const catalog = () =>
  env.CATALOG.getByName(sha256(lengthPrefixed(['catalog']))) as unknown as CatalogApi

/** Queries of the database since the counts were set to zero. */
const asked = { trips: 0, statements: 0, rows: 0 }

interface Found {
  readonly meta?: { readonly rows_read?: number }
}

beforeAll(() => {
  const counted = (proto: Record<string, unknown>, name: string) => {
    const original = proto[name] as (...args: unknown[]) => Promise<Found | readonly Found[]>
    proto[name] = async function counting(this: unknown, ...args: unknown[]) {
      const found = [await original.apply(this, args)].flat()
      asked.trips += 1
      asked.statements += found.length
      for (const { meta } of found) asked.rows += meta?.rows_read ?? 0
      return name === 'batch' ? found : found[0]
    }
  }
  counted(Object.getPrototypeOf(env.DB), 'batch')
  counted(Object.getPrototypeOf(env.DB.prepare('SELECT 1')), 'all')
})

const manifestOf = (id: string) => pluginBundle(id, 'one').manifest
const permit = toPermit(parseManifest(manifestOf('p')))

/** So many plugins that were installed and enabled long ago. */
async function install(from: number, to: number): Promise<void> {
  const ids = Array.from({ length: to - from }, (_one, at) => `p${from + at}`)
  const rows = JSON.stringify(
    ids.map((id) => ({
      id,
      hash: sha256(id),
      manifest: JSON.stringify(manifestOf(id)),
      pin: JSON.stringify({
        id,
        hash: sha256(id),
        version: '1.0.0',
        tier: 'community',
        permit,
        grantEpoch: 1,
        config: {},
        runsOwnAgent: false,
      }),
    })),
  )
  const each = `value->>'id', value->>'hash'`
  const number = `(SELECT max(number) FROM generations)`
  const sql = [
    `INSERT INTO generations SELECT coalesce(max(number), 0) + 1, 'seed ' || length(?1), 'operator', 1 FROM generations`,
    `INSERT INTO manifests (id, hash, version, tier, state, manifest, updated_at_ms, owner)
      SELECT ${each}, '1.0.0', 'community', 'enabled', value->>'manifest', 1, 'operator' FROM json_each(?1)`,
    `INSERT INTO plugin_versions (plugin, hash, version, tier, source, manifest, installed_by, installed_at_ms, size_bytes)
      SELECT ${each}, '1.0.0', 'community', 'upload', value->>'manifest', 'operator', 1, 1000 FROM json_each(?1)`,
    `INSERT INTO generation_parts SELECT 'plugin', value->>'id', ${number}, NULL, value->>'pin' FROM json_each(?1)`,
  ]
  await env.DB.batch(sql.map((one) => env.DB.prepare(one).bind(rows)))
  await abortAllDurableObjects()
}

const adding = (id: string): PluginChange => {
  const { manifest, code, files } = pluginBundle(id, 'one')
  const bundle = toBundleText({ manifest, code, files })
  const about = { version: '1.0.0', tier: 'community', source: 'upload' } as const
  const made = { installedAtMs: Date.now(), installedBy: 'operator' }
  return { do: 'add', bundle, plugin: { id, manifest, hash: sha256(bundle), ...about, ...made } }
}

/** What one more costs, in an object that has been asked before. */
async function costOf(id: string) {
  // Another author each time: the uploads of an author in an hour are counted.
  const costs: Record<string, object> = {}
  const add = adding(id)
  const { hash } = (add as Extract<PluginChange, { do: 'add' }>).plugin
  const steps: readonly PluginChange[] = [
    add,
    { do: 'grant', id, hash, permit: toPermit(parseManifest(manifestOf(id))) },
    { do: 'enable', id },
  ]
  for (const step of steps) {
    fromReply(await catalog().look())
    Object.assign(asked, { trips: 0, statements: 0, rows: 0 })
    const reply = await catalog().change(step, { ...by, principal: id })
    fromReply(reply)
    costs[step.do] = { ...asked, own: reply.billed?.own.rowsRead ?? 0 }
  }
  return costs
}

describe('the Catalog', () => {
  it('E9: adds, grants and enables one more in two trips each, however much is installed', async () => {
    await install(0, 100)
    await costOf('warm')
    const few = await costOf('one')
    await install(100, 2_000)
    await costOf('warmer')
    const many = await costOf('two')
    expect(many).toEqual(few)
    for (const step of ['add', 'grant', 'enable']) expect(many[step]).toMatchObject({ trips: 2 })
  })
})
