import page from '../../docs/storage.md?raw'
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { MemoryApi, KnowledgeApi } from '../../src/features/memory/types.ts'
import { toSubscriptionSpec } from '#features/schedules/types/schedule-spec.ts'
import type { PrincipalApi } from '#runtime/session/types/principal.ts'
import { ownLabel } from '#contracts/label.ts'
import type { PluginServiceApi } from '#features/plugins/types/plugin-service.ts'
import { callJson } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** Of each table under this heading of the page: its columns, in order. */
function toldOf(heading: string): Record<string, string[]> {
  const [, chapter = ''] = page.split(`\n### ${heading}\n`)
  const [body = ''] = chapter.split(/\n##/)
  const rows = body.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)
  return Object.fromEntries(
    [...rows].map(([, table, columns]) => {
      return [table, [...columns!.matchAll(/`(\w+)`/g)].map(([, name]) => name)]
    }),
  )
}

const madeIn = (stub: DurableObjectStub): Promise<Record<string, string[]>> =>
  runInDurableObject(stub, (_instance, { storage: { sql } }) => {
    const tables = sql.exec(`SELECT name FROM sqlite_master WHERE type = 'table'`).toArray()
    const names = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith('_cf_'))
    const columnsOf = (name: string) =>
      sql.exec(`SELECT name FROM pragma_table_xinfo(?)`, name).toArray()
    return Object.fromEntries(
      names.map((name) => [name, columnsOf(name).map((column) => String(column['name']))]),
    )
  })

/** Adds a subscription, and lets it hear an event. */
async function hear(object: Pick<PluginServiceApi, 'schedules'>): Promise<void> {
  const asked = { event: 'shop.paid', task: 'Go.', agent: 'orchestrator' }
  const spec = toSubscriptionSpec(asked)
  const one = {
    id: 'sub_page',
    owner: 'principal:page',
    asker: { principal: 'page' },
    spec,
  } as const
  const by = { principal: 'page', trace: '' }
  await object.schedules({ verb: 'add', ask: { schedule: one, by } })
  const place = { session: 'ses_1', run: 'run_1', agent: 'orchestrator', trace: '1'.repeat(32) }
  const said = { id: 'ses_1:1', name: 'shop.paid', atMs: 1, payload: {}, label: ownLabel }
  await object.schedules({ verb: 'hear', ask: { event: { ...place, ...said, principal: 'page' } } })
}

describe('the page about storage', () => {
  it('names every table and column of a session', async () => {
    const isReviewer = ({ messages }: UpstreamRequest) =>
      String(messages[0]?.content).includes('review') &&
      !String(messages[0]?.content).includes('Available tools')
    upstream = installUpstream((request) => {
      if (isReviewer(request) || request.messages.at(-1)!.role === 'tool') return { text: 'fine' }
      const input = { key: 'a', value: 1 }
      const review = { name: 'code-reviewer__run', input: { task: 'look' } }
      return { calls: [{ name: 'kv__set', input }, review] }
    })
    const { id: session } = await callJson('/api/sessions', { json: {} })
    const runs = `/api/sessions/${session}/runs`
    await callJson(runs, { json: { task: 'go', wait: true } })
    const headers = { 'Idempotency-Key': 'second' } // so that there is an index of runs
    await callJson(runs, { json: { task: 'again', wait: true }, headers })
    await sessions.at(session).cancelCall('run_of_no_one', 'call_1', 'cancelled before it came')
    expect(await madeIn(stubOf(session))).toEqual(toldOf('A session'))
  })

  it('names every table and column of a principal', async () => {
    const stub = (env.PRINCIPAL as unknown as DurableObjectNamespace).getByName('page')
    const principal = stub as unknown as PrincipalApi & MemoryApi & KnowledgeApi
    const limits = { tokens: 1_000, costNanoUsd: 1_000 }
    const about = { principal: 'page', session: 'ses_1', run: 'run_1' }
    await principal.reserve({ ...about, asked: limits, step: 1 }, limits)
    await principal.settle({ ...about, spent: limits, step: 2 })
    await principal.takeRate({ call: 'call_1', rules: [{ key: 'all', most: 1 }] })
    await principal.report({ kind: 'audit_behind', session: 'ses_1', message: 'away' })
    await principal.loginFailed({ address: '192.0.2.1' })
    const storage = { space: 'plugin:kv', key: 'a', value: 1, quotaBytes: 100 } as const
    await principal.storage({ verb: 'set', ...storage })
    await principal.schedules({ verb: 'settings', ask: { set: { timeZone: 'UTC' } } })
    await hear(principal)
    const budget = { run: 'run_1', most: 1 }
    await principal.memory({
      verb: 'add',
      place: 'principal',
      notes: [{ text: 'A note.' }],
      budget,
    })
    await principal.knowledge({
      verb: 'put',
      place: 'principal',
      document: { name: 'a', type: 'text', hash: 'a', chars: 1, label: ownLabel },
      passages: [{ text: 'A passage.' }],
    })
    expect(await madeIn(stub)).toEqual(toldOf('A principal'))
  })

  it('names every table and column of a plugin service', async () => {
    const stub = (env.PLUGIN_SERVICE as unknown as DurableObjectNamespace).getByName('page')
    const storage = { space: 'plugin:kv', key: 'a', value: 1, quotaBytes: 100 } as const
    const service = stub as unknown as PluginServiceApi
    await service.storage({ verb: 'set', ...storage })
    await service.schedules({ verb: 'settings', ask: { set: { timeZone: 'UTC' } } })
    await hear(service)
    expect(await madeIn(stub)).toEqual(toldOf('A plugin service'))
  })

  it('names every table and column of the Catalog', async () => {
    await callJson('/api/operator/health')
    const stub = (env.CATALOG as unknown as DurableObjectNamespace).getByName(
      sha256(lengthPrefixed(['catalog'])),
    )
    expect(await madeIn(stub)).toEqual(toldOf('The catalog and an MCP server'))
  })

  it('names every table and column of D1', async () => {
    await callJson('/api/operator/health')
    await vi.waitFor(async () => {
      const { results: tables } = await env.DB.prepare(
        `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '_cf_%' AND name NOT LIKE 'sqlite_%'`,
      ).all<{ name: string }>()
      const made: Record<string, string[]> = {}
      for (const { name } of tables) {
        const { results } = await env.DB.prepare(`PRAGMA table_info(${name})`).all<{
          name: string
        }>()
        made[name] = results.map((column) => column.name)
      }
      expect(made).toEqual(toldOf('D1'))
    })
  })
})
