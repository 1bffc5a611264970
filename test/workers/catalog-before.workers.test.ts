import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import { lengthPrefixed } from '../../src/contracts/naming.ts'
import { defaultToolPolicy } from '../../src/runtime/kernel/types/tool-policy.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import {
  addPlugin,
  callsTool,
  changePlugin,
  enablePlugin,
  pluginBundle,
  runOnce,
} from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const rows = async (sql: string): Promise<readonly Answer[]> =>
  (await env.DB.prepare(sql).all<Answer>()).results
const denied = async () => (await callJson('/api/operator/policy')).policy.deny

/** What is in force, as the version before left it in D1 and in its object: each generation as one value. */
async function writtenBefore(isCut: boolean): Promise<void> {
  const parts = await rows('SELECT kind, pin FROM generation_parts WHERE until IS NULL')
  const pins = (kind: string) =>
    parts.filter((part) => part.kind === kind).map(({ pin }) => JSON.parse(pin as string) as Answer)
  const number = Number((await rows('SELECT max(number) AS n FROM generations'))[0]?.n) + 1
  const plugins = { installed: pins('plugin'), bundled: {}, mcp: pins('mcp') }
  const { policy } = pins('policy')[0]!
  await env.DB.batch([
    env.DB.prepare('DELETE FROM generation_parts'),
    env.DB.prepare(
      `INSERT INTO generations (number, plugins, reason, made_by, made_at_ms) VALUES (?1, ?2, 'plugin_enabled was', 'operator', 1)`,
    ).bind(number, JSON.stringify(plugins)),
    env.DB.prepare('INSERT OR REPLACE INTO policies VALUES (?1, ?2, ?3, 1)').bind(
      number,
      JSON.stringify(policy),
      'operator',
    ),
  ])
  const catalog = env.CATALOG.getByName(sha256(lengthPrefixed(['catalog'])))
  await runInDurableObject(catalog as unknown as DurableObjectStub, (_instance, { storage }) => {
    for (const table of ['parts', 'tools', 'needs']) storage.sql.exec(`DROP TABLE ${table}`)
    storage.kv.delete('number')
    storage.kv.put('generation', JSON.stringify({ number, ...plugins, policy }))
    if (isCut) storage.kv.put('changing', true)
  })
  await abortAllDurableObjects()
}

describe('the Catalog of the version before', () => {
  it.each([
    ['as it was', 'was', false],
    ['while something was changed', 'cut', true],
  ])(
    'F32: what was in force %s is in force, after a restart and a change too',
    async (_, id, isCut) => {
      await addPlugin(pluginBundle(id, 'from before'))
      await enablePlugin(id)
      await callJson('/api/operator/policy', { json: { policy: { deny: [`${id}-not__*`] } } })
      await writtenBefore(isCut)

      const isInForce = async () => {
        upstream = installUpstream(callsTool(`${id}__say`))
        expect(await runOnce()).toContain('from before')
        upstream.restore()
        expect(await denied()).toEqual([`${id}-not__*`])
      }
      await isInForce()
      await abortAllDurableObjects()
      await isInForce()
      await addPlugin(pluginBundle(`${id}-more`, 'more'))
      await changePlugin(`${id}-more`, 'enable')
      await isInForce()
      const open = await rows('SELECT kind, id FROM generation_parts WHERE until IS NULL')
      expect(open).toEqual(
        expect.arrayContaining([
          { kind: 'plugin', id },
          { kind: 'plugin', id: `${id}-more` },
          { kind: 'policy', id: 'policy' },
        ]),
      )
    },
  )
})

/** Takes out of every policy that is kept, in D1 and in the object, what that version did not know. */
async function withoutLabels(): Promise<void> {
  const without = (section: Answer): Answer => {
    const { labels: _, ...kept } = section
    return kept
  }
  const stripped = (text: string): string => {
    const { policy, ...pin } = JSON.parse(text) as Answer
    const sections = (some: object) =>
      Object.fromEntries(Object.entries(some).map(([id, one]) => [id, without(one)]))
    const { agents, principals, ...own } = without(policy)
    const kept = { ...own, agents: sections(agents), principals: sections(principals) }
    return JSON.stringify({ ...pin, policy: kept })
  }
  const parts = await rows("SELECT pin FROM generation_parts WHERE kind = 'policy'")
  for (const { pin } of parts)
    await env.DB.prepare("UPDATE generation_parts SET pin = ? WHERE kind = 'policy' AND pin = ?")
      .bind(stripped(pin), pin)
      .run()
  const catalog = env.CATALOG.getByName(sha256(lengthPrefixed(['catalog'])))
  await runInDurableObject(catalog as unknown as DurableObjectStub, (_instance, { storage }) => {
    const kept = storage.sql.exec("SELECT pin FROM parts WHERE kind = 'policy'").one()
    const pin = stripped(String(kept['pin']))
    storage.sql.exec("UPDATE parts SET pin = ? WHERE kind = 'policy'", pin)
  })
  await abortAllDurableObjects()
}

describe('a policy of the version before labels', () => {
  it('T11: has the rules that ship, its sections add none, and it can be read, tried and restored', async () => {
    const sections = { agents: { orchestrator: { deny: ['a__*'] } }, principals: { me: {} } }
    const set = (policy: object) => callJson('/api/operator/policy', { json: { policy } })
    const { generation } = await set({ ...sections, network: { hosts: ['*'] } })
    await set({ deny: ['later__*'] })
    await withoutLabels()

    const isAsked = async () => {
      const label = { integrity: 'stranger' }
      const json = { tool: 'http__request', label, sinks: ['write'] }
      return (await callJson('/api/operator/policy/test', { json })).verdict
    }
    expect(await isAsked()).toBe('ask')
    const { policy, lines } = await callJson('/api/operator/policy')
    expect([policy.labels, policy.deny]).toEqual([defaultToolPolicy.labels, ['later__*']])
    expect(lines.join(' ')).toContain('ask write, spend, message, code')
    await callJson(`/api/operator/generations/${generation}/restore`, {
      json: { withPolicy: true },
    })
    expect(await isAsked()).toBe('ask')
    const restored = await callJson('/api/operator/policy')
    expect(restored.policy.agents.orchestrator).toEqual({
      deny: ['a__*'],
      allow_destructive: [],
      labels: [],
    })
  })
})
