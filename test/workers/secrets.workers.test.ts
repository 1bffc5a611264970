import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { call, callJson } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

const bodies = vi.hoisted(() => ({
  echo: "return (await can.fetch('https://api.example.com/echo', { headers: { authorization: 'Bearer ' + can.secrets.ref('API_TOKEN') } })).text()",
  broken:
    "return (await can.fetch('https://api.example.com/throw', { headers: { authorization: can.secrets.ref('API_TOKEN') } })).text()",
  misused: "return can.fetch('https://api.example.com/' + can.secrets.ref('API_TOKEN'))",
  sign: "return can.secrets.hmac('API_TOKEN', 'text')",
}))

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate }, { bundleAgent }] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('../fixtures/agents.ts'),
  ])
  const tools = Object.entries(bodies)
  const folder = {
    manifest: {
      id: 'client',
      name: 'Client',
      version: '1.0.0',
      description: 'Asks a service.',
      entrypoint: 'main.js',
      contributes: {
        tools: tools.map(([name]) => ({ name, description: `Does ${name}.`, input_schema: {} })),
      },
      grants: {
        network: [{ host: 'api.example.com', methods: ['GET'] }],
        secrets: [
          { name: 'API_TOKEN', host: 'api.example.com', in: 'header' },
          { name: 'API_TOKEN', in: 'hmac' },
        ],
      },
    },
    code: `export default () => ({ tools: { ${tools.map(([name, body]) => `async ${name}(input, can) { ${body} }`).join(', ')} } })`,
    hash: 'c'.repeat(64),
  }
  const limits = { max_depth: 4, max_turns: 10, max_tool_calls: 10, max_children: 4 }
  const bundledPlugins: readonly BundledPlugin[] = [
    isolate(folder, 'community'),
    bundleAgent({ id: 'worker', uses: ['client'], limits }),
  ]
  return { bundledPlugins }
})

const value = 'tkn-canary/0f6b+35"e'
/** Any trace of it, as it is, as hex, and in base64 wherever it stands. */
const leak = /canary|63616e617279|Y2FuYXJ5|NhbmFye|jYW5hcn/i

let upstream: ReturnType<typeof installUpstream> | undefined
// An answer read with its key is a stranger's and private: without this rule its next request needs an approval.
const sink = ['egress', 'write']
const label = { integrity: 'stranger', confidentiality: 'private' }
const setPolicy = (policy: object) => callJson('/api/operator/policy', { json: { policy } })
beforeEach(() => setPolicy({ labels: [{ label, sink, verdict: 'allow' }] }))
afterEach(async () => {
  upstream?.restore()
  await setPolicy({})
})

/** The model calls each tool once, then says what they answered. */
async function runAll(seen: string[] = []) {
  const names = Object.keys(bodies)
  upstream = installUpstream(
    ({ messages }: UpstreamRequest) => {
      const done = messages
        .filter(({ role }) => role === 'tool')
        .map(({ content }) => String(content))
      const name = names[done.length]
      return name ? { calls: [{ name: `client__${name}`, input: {} }] } : { text: done.join(' | ') }
    },
    (request) => {
      const headers = [...request.headers]
      seen.push(JSON.stringify(headers))
      if (request.url.endsWith('/throw')) throw new Error(`refused ${JSON.stringify(headers)}`)
      return new Response(`you sent ${JSON.stringify(headers)}`, {
        headers: { 'x-echo': seen.at(-1)! },
      })
    },
  )
  const { id: session } = await callJson('/api/sessions', { json: { agent: 'worker' } })
  const at = `/api/sessions/${session}`
  const { run } = await callJson(`${at}/runs`, { json: { task: 'go', wait: true } }).then(
    (answer) => ({ run: answer.run ?? answer.id }),
  )
  const { runs } = await callJson(at)
  const view = await callJson(`${at}/runs/${run ?? runs[0].id}`)
  return { session, view }
}

/** Every row of a database, whatever its tables are. */
async function rowsOf(query: (sql: string) => Promise<readonly Record<string, unknown>[]>) {
  const tables = await query("SELECT name FROM sqlite_master WHERE type = 'table'")
  const own = tables.map(({ name }) => String(name)).filter((name) => !/^(_cf_|sqlite_)/.test(name))
  const rows: unknown[] = []
  for (const name of own) rows.push(name, await query(`SELECT * FROM "${name}"`))
  return JSON.stringify(rows)
}

it('T4, I28: a canary is in 0 of responses, D1, KV, objects, audit and logs, and did reach its host', async () => {
  const lines: string[] = []
  const spies = (['log', 'info', 'warn', 'error'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation((...words) => void lines.push(words.join(' '))),
  )
  const set = await callJson('/api/operator/secrets', { json: { name: 'API_TOKEN', value } })
  const seen: string[] = []
  const { session, view } = await runAll(seen)
  expect(view.result.actions.map(({ ok }: { ok: boolean }) => ok)).toEqual([
    true,
    false,
    false,
    true,
  ])
  expect(seen).toHaveLength(2)
  for (const headers of seen) expect(JSON.stringify(JSON.parse(headers))).toContain('canary')

  const events = await (await call(`/api/sessions/${session}/events`)).text()
  const pages = await Promise.all(
    ['transcript', '', 'runs'].map(async (page) =>
      (await call(`/api/sessions/${session}/${page}`)).text(),
    ),
  )
  const operator = await Promise.all(
    ['secrets', 'health', 'metrics', 'audit?session=deployment'].map(async (page) =>
      (await call(`/api/operator/${page}`)).text(),
    ),
  )
  const audit = await vi.waitFor(
    async () => {
      const text = await (await call(`/api/operator/audit?session=${session}`)).text()
      expect(text).toContain('run_finished')
      return text
    },
    { timeout: 60_000, interval: 50 },
  )
  const database = await rowsOf(async (sql) => (await env.DB.prepare(sql).all()).results)
  const object = await runInDurableObject(stubOf(session), async (_instance, state) =>
    rowsOf(async (sql) => [...state.storage.sql.exec(sql)]),
  )
  const kv = JSON.stringify((await env.KV.list()).keys)
  for (const spy of spies) spy.mockRestore()

  expect(events).toContain('"capability":"secrets"')
  expect(audit).toContain('"place":"header authorization"')
  expect(operator.join()).toContain('secret_set')
  expect([database, object].join()).toContain('redacted')
  const sinks = { set, view, events, pages, operator, audit, database, object, kv, lines }
  for (const [name, sink] of Object.entries(sinks))
    expect(JSON.stringify(sink), name).not.toMatch(leak)
})

it('P24: a removed secret is gone for the next call, which says what to do', async () => {
  const rotate = () => callJson('/api/operator/secrets/rotate', { json: {} })
  await callJson('/api/operator/secrets', { json: { name: 'API_TOKEN', value } })
  expect(await rotate()).toMatchObject({ current: 1 })
  await callJson('/api/operator/secrets/API_TOKEN', { method: 'DELETE' })
  expect(await rotate()).toMatchObject({ current: 0 })
  const { view } = await runAll()
  expect(view.result.result).toContain('isola secret set API_TOKEN')
})
