import { afterEach, describe, expect, it, vi } from 'vitest'
import { env } from 'cloudflare:workers'
import worker from '../../src/index.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, changePlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { callsTool, runOnce, showPlugin, tryChange } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

const dayMs = 86_400_000
const path = '/api/operator/plugins'
let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const rows = async (sql: string, ...values: (string | number)[]): Promise<readonly Answer[]> =>
  (
    await env.DB.prepare(sql)
      .bind(...values)
      .all<Answer>()
  ).results
const hasBundle = async (hash: string) => {
  const found = await rows('SELECT hash FROM plugin_bundles WHERE hash = ?1', hash)
  return [found.length > 0, (await env.KV.get(`bundle:${hash}`)) !== null]
}
const both = [true, true]
const neither = [false, false]
const countBundles = async () =>
  (await rows('SELECT count(DISTINCT hash) AS n FROM plugin_bundles'))[0].n as number
/** What everything that was made until now looks like so many days later. */
async function age(days: number): Promise<void> {
  const ms = days * dayMs
  for (const [table, column] of [
    ['plugin_bundles', 'saved_at_ms'],
    ['plugin_versions', 'installed_at_ms'],
    ['generations', 'made_at_ms'],
  ])
    await env.DB.prepare(`UPDATE ${table} SET ${column} = ${column} - ?1`).bind(ms).run()
}
const version = (id: string, number: string, says = number) =>
  pluginBundle(id, says, { version: number })
/** Installed and in force. */
async function inForce(id: string, number: string): Promise<string> {
  await addPlugin(version(id, number))
  return (await enablePlugin(id)).plugin.hash
}
const keyOf = async (principal: string, role = 'author') =>
  (await callJson('/api/operator/keys', { json: { principal, role } })).key as string
const addAs = (key: string, bundle: object) =>
  call(path, { json: { bundle }, headers: { authorization: `Bearer ${key}` } })

describe('a bundle that is refused', () => {
  it.each([
    ['has the id of one that ships', () => version('kv', '1.0.0', 'refused as kv')],
    ['has another content under a known number', () => version('stays', '1.0.0', 'changed')],
    ['is older', () => version('stays', '0.9.0')],
  ])('a bundle that %s is stored nowhere', async (_why, bundle) => {
    if (!(await rows(`SELECT id FROM manifests WHERE id = 'stays'`)).length)
      await addPlugin(version('stays', '1.0.0'))
    const before = await countBundles()
    const refused = await call(path, { json: { bundle: bundle() } })
    expect([409, 422]).toContain(refused.status)
    expect(await countBundles()).toBe(before)
  })
})

describe('what an author may bring', () => {
  /** As if so much had been brought by then. */
  const brought = (who: string, count: number, sizeBytes: number) =>
    env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
      INSERT INTO plugin_versions (plugin, hash, version, tier, source, manifest, installed_by, installed_at_ms, size_bytes)
      SELECT 'of-' || ?1, ?1 || i, '0.0.' || i, 'community', 'upload', '{}', ?1, 1, ?3 FROM n`,
    )
      .bind(who, count, sizeBytes)
      .run()

  it('ends at two hundred versions, and the refusal says what to do', async () => {
    const key = await keyOf('ada')
    await brought('ada', 199, 10)
    expect((await addAs(key, version('ada-last', '1.0.0'))).status).toBe(201)
    const before = await countBundles()
    const refused = await addAs(key, version('ada-more', '1.0.0'))
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { code: 'insufficient_quota' } },
    ])
    expect(await countBundles()).toBe(before)
    const again = await addAs(key, version('ada-more', '1.0.0'))
    expect(await again.text()).toMatch(/200 versions.*ISOLA_AUTHOR_VERSIONS/)
    // A version that is stored already takes no more space.
    expect((await addAs(key, version('ada-last', '1.0.0'))).status).toBe(201)
    // It is the author's, not the plugin's nor the operator's.
    expect((await addAs(await keyOf('bob'), version('bob-one', '1.0.0'))).status).toBe(201)
    await addPlugin(version('ada-more', '1.0.0'))
  })

  it('ends at 128 MiB of them', async () => {
    const key = await keyOf('cyd')
    await brought('cyd', 1, 128 * 1024 * 1024 - 100)
    const refused = await addAs(key, version('cyd-more', '1.0.0'))
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringMatching(/128 MiB.*ISOLA_AUTHOR_MIB/),
    ])
  })

  it('ends at sixty an hour, and goes on when the first of them is an hour old', async () => {
    const key = await keyOf('eve')
    await addAs(key, version('eve-first', '1.0.0'))
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 59)
      INSERT INTO audit (session, since_ms, seq, run, trace, agent, principal, type, at_ms, data)
      SELECT 'of eve', 1, i, '', '', '', 'eve', 'plugin_added', (SELECT max(at_ms) FROM audit WHERE principal = 'eve'), '{}' FROM n`,
    ).run()
    await env.DB.prepare(
      `UPDATE audit SET session = '', since_ms = -seq WHERE session = 'of eve'`,
    ).run()
    const refused = await addAs(key, version('eve-more', '1.0.0'))
    expect([refused.status, await refused.clone().json()]).toMatchObject([
      429,
      { error: { code: 'rate_limited' } },
    ])
    expect(await refused.text()).toMatch(/60 .*hour.*ISOLA_AUTHOR_ADDS_PER_HOUR/)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000)
    await env.DB.prepare(`UPDATE audit SET at_ms = at_ms - 3600000 WHERE principal = 'eve'`).run()
    expect((await addAs(key, version('eve-more', '1.0.0'))).status).toBe(201)
  })
})

describe('the daily clean-up', () => {
  it('takes versions that no run can need any more: from D1, from KV, and out of the list', async () => {
    const one = await inForce('old', '1.0.0')
    const two = await inForce('old', '2.0.0')
    await age(91)
    expect(await hasBundle(one)).toEqual(both)
    await worker.scheduled()
    expect([await hasBundle(one), await hasBundle(two)]).toEqual([neither, both])
    const { versions } = await showPlugin('old')
    expect(versions.map(({ version: number }: Answer) => number)).toEqual(['2.0.0'])
    upstream = installUpstream(callsTool('old__say'))
    expect(await runOnce()).toContain('2.0.0')
  })

  it('leaves what is in force, and what one can go back to', async () => {
    const one = await inForce('back', '1.0.0')
    await age(91)
    const two = await inForce('back', '2.0.0')
    // In force until now, however long it was.
    await worker.scheduled()
    await age(89)
    await worker.scheduled()
    expect([await hasBundle(one), await hasBundle(two)]).toEqual([both, both])
    const { plugin } = await changePlugin('back', 'rollback')
    expect(plugin).toMatchObject({ version: '1.0.0', state: 'enabled' })
    upstream = installUpstream(callsTool('back__say'))
    expect(await runOnce()).toContain('1.0.0')
  })

  it('leaves what is installed and off, and what an author brought lately', async () => {
    const off = (await addPlugin(version('waits', '1.0.0'))).plugin.hash
    await age(200)
    const key = await keyOf('fay')
    await callJson(path, { json: { bundle: version('fay-one', '1.0.0') } })
    const own = await addAs(key, version('fay-two', '1.0.0'))
    expect(own.status).toBe(201)
    await enablePlugin('fay-two')
    await addAs(key, version('fay-two', '1.1.0'))
    const { waiting } = await showPlugin('fay-two')
    await age(89)
    await worker.scheduled()
    expect([await hasBundle(off), await hasBundle(waiting[0].hash)]).toEqual([both, both])
    await age(2)
    await worker.scheduled()
    expect([await hasBundle(off), await hasBundle(waiting[0].hash)]).toEqual([both, neither])
    expect((await showPlugin('fay-two')).waiting).toEqual([])
    const gone = await tryChange('fay-two', 'accept', { hash: waiting[0].hash })
    expect(gone.status).toBe(404)
  })

  it('gives back what it took of a quota, and what was taken can be brought again', async () => {
    const key = await keyOf('gil')
    await addAs(key, version('gil-one', '1.0.0'))
    await enablePlugin('gil-one')
    await addPlugin(version('gil-one', '2.0.0'))
    await age(91)
    const kept = async () =>
      rows(
        `SELECT count(*) AS n, sum(size_bytes) AS bytes FROM plugin_versions
          WHERE installed_by = 'gil' AND collected_at_ms IS NULL`,
      )
    expect((await kept())[0]).toMatchObject({ n: 1, bytes: expect.any(Number) as unknown })
    await worker.scheduled()
    expect((await kept())[0]).toEqual({ n: 0, bytes: null })
    const back = await tryChange('gil-one', 'rollback')
    expect([back.status, await back.text()]).toEqual([
      409,
      expect.stringMatching(/1\.0\.0.*is not kept any more/),
    ])
    // Its number still means what it meant.
    const other = await call(path, {
      json: { bundle: version('gil-one', '1.0.0', 'else'), allowDowngrade: true },
    })
    expect(other.status).toBe(409)
    await addPlugin(version('gil-one', '1.0.0'), { allowDowngrade: true })
    await enablePlugin('gil-one')
    upstream = installUpstream(callsTool('gil-one__say'))
    expect(await runOnce()).toContain('1.0.0')
  })

  it('I19: a run that is pinned to a version that was taken goes on as it began', async () => {
    const bundle = (number: string) => ({
      ...pluginBundle('held', `said by ${number}`, {
        version: number,
        agent: {
          integration_mode: 'tool',
          model: 'openai/held',
          instructions: 'p.md',
          uses_tools: ['kv', 'held'],
        },
      }),
      files: { 'p.md': `You are version ${number}.` },
    })
    upstream = installUpstream(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] },
    )
    const { hash } = (await addPlugin(bundle('1.0.0'))).plugin
    await enablePlugin('held')
    const { id } = await callJson('/api/sessions', { json: { agent: 'held' } })
    const json = { task: 'go', wait: true, requireApproval: ['kv__set'] }
    const parked = await callJson(`/api/sessions/${id}/runs`, { json })
    expect(parked.state).toBe('parked')
    await age(300)
    // In force, however long: the run that is pinned to it needs nothing else.
    await worker.scheduled()
    expect(await hasBundle(hash)).toEqual(both)
    await addPlugin(bundle('2.0.0'))
    await enablePlugin('held')
    await age(7)
    // So long it may have waited.
    await worker.scheduled()
    expect(await hasBundle(hash)).toEqual(both)
    await age(91)
    await worker.scheduled()
    expect(await hasBundle(hash)).toEqual(neither)
    const [{ call: waiting }] = parked.pauses
    const view = `/api/sessions/${id}/runs/${parked.id}`
    await callJson(`${view}/decisions`, { json: { call: waiting, decision: 'approve' } })
    await vi.waitFor(async () => expect((await callJson(view)).state).toBe('completed'), {
      timeout: 60_000,
      interval: 20,
    })
    expect(String(upstream.requests.at(-1)?.messages[0]?.content)).toContain(
      'You are version 1.0.0.',
    )
  })

  it('takes a bundle that nothing names, once it is as old', async () => {
    const orphan = 'f'.repeat(64)
    const save = (ms: number) =>
      env.DB.prepare(
        `INSERT INTO plugin_bundles (hash, part, text, saved_at_ms) VALUES (?1, 0, 'x', ?2)
          ON CONFLICT DO UPDATE SET saved_at_ms = ?2`,
      )
        .bind(orphan, ms)
        .run()
    await save(Date.now())
    await worker.scheduled()
    expect((await hasBundle(orphan))[0]).toBe(true)
    await save(0)
    await worker.scheduled()
    expect((await hasBundle(orphan))[0]).toBe(false)
  })
})
