// The product with a way to install very much at once, and to see what the Catalog answers, for `npm run catalog-size`
// only: bundles, rows and generations are written by the product's own stores. Nothing of this is in a deployment.
import app from '../src/index.ts'
import { env as bindings } from 'cloudflare:workers'
import {
  noGeneration,
  pinsOf,
  withPin,
  type Generation,
  type PluginPin,
} from '#runtime/catalog/types/generation.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import { parseManifest, toPermit } from '../src/runtime/catalog/types/permit.ts'
import { mcpServerSchema, type McpServerRow } from '#runtime/catalog/types/mcp.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import { toBundleText } from '#runtime/catalog/types/plugin-upload.ts'
import type { CatalogApi, PluginRow } from '#runtime/catalog/types/plugin-catalog.ts'
import {
  Catalog,
  McpServer,
  PluginRunner,
  PluginService,
  Principal,
  Session,
} from '../src/index.ts'
import { createBundleStore } from '../src/features/plugins/store/bundles.ts'
import { createPluginStore } from '../src/features/plugins/store/plugins.ts'
import { systemSources } from '../src/compose/sources.ts'

const { sha256, clock } = systemSources
const store = createPluginStore(bindings.DB)
const bundles = createBundleStore({ database: bindings.DB, namespace: bindings.KV, sha256, clock })
const words = ['invoice', 'ticket', 'calendar', 'message', 'report', 'customer', 'order', 'file']
const toolsOfPlugin = 4
const toolsOfServer = 10

const describe = (owner: string, tool: number) =>
  `Handles the ${words[tool % words.length]} ${tool} of ${owner}: creates it, looks it up and changes its state.`
const schema = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Which one, by its id.' },
    state: { type: 'string', description: 'Its new state.' },
  },
  required: ['id'],
}

async function pluginOf(id: string): Promise<{ row: PluginRow; pin: PluginPin }> {
  const tools = Array.from({ length: toolsOfPlugin }, (_one, at) => ({
    name: `do_${at}`,
    description: describe(id, at),
    input_schema: schema,
  }))
  const manifest = {
    id,
    name: id,
    version: '1.0.0',
    entrypoint: 'main.js',
    description: `Works with what ${id} has.`,
    contributes: { tools },
  }
  const names = tools.map(({ name }) => `${name}: async () => '${id}'`).join(', ')
  const code = `export default () => ({ tools: { ${names} } })`
  const text = toBundleText({ manifest, code, files: {} })
  const hash = sha256(text)
  await bundles.save(hash, text)
  const permit = toPermit(parseManifest(manifest))
  const shared = { id, hash, version: '1.0.0', grantEpoch: 1, config: {}, permit }
  const pin = { ...shared, tier: 'community', runsOwnAgent: false } as const
  const row = {
    ...shared,
    tier: 'community',
    manifest,
    state: 'enabled',
    permitHash: hash,
  } as const
  return { pin, row: { ...row, owner: 'operator' } }
}

async function serverOf(id: string) {
  const items = Array.from({ length: toolsOfServer }, (_one, at) => ({
    kind: 'tool',
    key: `do_${at}`,
    tool: `do_${at}`,
    definition: { name: `do_${at}`, description: describe(id, at), inputSchema: schema },
    hash: sha256(`${id} ${at}`),
  }))
  const text = toCanonicalJson({ manifest: { server: id, items }, files: {} })
  const hash = sha256(text)
  await bundles.save(hash, text)
  const config = mcpServerSchema.parse({ id, url: `https://${id}.example.com/mcp` })
  const shared = { id, config, confirmed: [], epoch: 1, addedAtMs: 1 }
  const row: McpServerRow = { ...shared, state: 'enabled', approvedHash: hash, addedBy: 'operator' }
  return { row, pin: { ...shared, hash } }
}

/** Installs and enables those from one number to another, in one generation. */
async function seed(plugins: readonly [number, number], servers: readonly [number, number]) {
  const range = ([from, to]: readonly [number, number]) =>
    Array.from({ length: Math.max(0, to - from) }, (_one, at) => from + at)
  const before: Generation = (await store.generation()) ?? noGeneration
  const added = await Promise.all(range(plugins).map((at) => pluginOf(`plugin-${at}`)))
  const remote = await Promise.all(range(servers).map((at) => serverOf(`server-${at}`)))
  const plugin = added.reduce((pins, { pin }) => withPin(pins, pin), pinsOf(before, 'plugin'))
  const mcp = remote.reduce((pins, { pin }) => withPin(pins, pin), pinsOf(before, 'mcp'))
  const data = { plugin: 'many', version: '1.0.0', hash: '' }
  await store.commit({
    rows: added.map(({ row }) => row),
    servers: remote.map(({ row }) => row),
    generation: {
      number: before.number + 1,
      pins: { ...before.pins, plugin, mcp },
      before,
      reason: 'plugin_enabled many',
    },
    event: { type: 'plugin_enabled', data, principal: 'operator', trace: '', atMs: Date.now() },
  })
}

async function look() {
  const api = bindings.CATALOG.getByName(
    sha256(lengthPrefixed(['catalog'])),
  ) as unknown as CatalogApi
  const timed = async (work: () => Promise<{ readonly billed?: { readonly own: object } }>) => {
    const startedMs = Date.now()
    const reply = await work()
    return { ms: Date.now() - startedMs, bytes: JSON.stringify(reply).length, ...reply.billed?.own }
  }
  return {
    look: await timed(() => api.look()),
    lookAgain: await timed(() => api.look()),
    part: await timed(() => api.parts(['plugin-7'])),
  }
}

async function search() {
  const api = bindings.CATALOG.getByName(
    sha256(lengthPrefixed(['catalog'])),
  ) as unknown as CatalogApi
  const found: number[] = []
  for (let time = 0; time < 3; time += 1) {
    const startedMs = Date.now()
    const reply = await api.search(['change the state of an invoice of plugin-7'], 8)
    if (!reply.ok || reply.value.length === 0) throw new Error('Nothing was found.')
    // The clock of a Worker stands still while it computes: the object does that, and this waits.
    found.push(Date.now() - startedMs)
  }
  return found
}

export { Catalog, McpServer, PluginRunner, PluginService, Principal, Session }

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url)
    const number = (name: string) => Number(searchParams.get(name))
    if (pathname === '/__bench/seed') {
      await seed([number('p0'), number('p1')], [number('s0'), number('s1')])
      return new Response('ok')
    }
    if (pathname === '/__bench/look') return Response.json(await look())
    if (pathname === '/__bench/search') return Response.json(await search())
    return app.fetch(request, env, context)
  },
} satisfies ExportedHandler<Env>
