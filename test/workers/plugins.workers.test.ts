import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import {
  addPlugin,
  callsTool,
  changePlugin,
  enablePlugin,
  pluginBundle,
  runOnce,
  showPlugin,
  tryChange,
} from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())
const withTool = (id: string) => (upstream = installUpstream(callsTool(`${id}__say`)))
const network = (...methods: string[]) => ({
  grants: { network: [{ host: 'api.example.com', methods }] },
})

describe('an installed plugin', () => {
  it('P1, P12, Y22: is used by the next run once it is enabled, and not before', async () => {
    withTool('first')
    const added = await addPlugin(pluginBundle('first', 'one'))
    expect(added.plugin).toMatchObject({ id: 'first', state: 'installed', tier: 'community' })
    expect(await runOnce()).toContain('tool_not_found')
    expect((await changePlugin('first', 'enable')).plugin.state).toBe('enabled')
    expect(await runOnce()).toContain('one')
    await changePlugin('first', 'disable')
    expect(await runOnce()).toContain('tool_not_found')
  })

  it('P21, E2: is enabled only with what was shown, allowed for exactly this version', async () => {
    await addPlugin(pluginBundle('asks', 'one', network('GET')))
    const refused = await tryChange('asks', 'enable')
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('isola plugin grant asks'),
    ])
    const { hash, asks, missing } = await showPlugin('asks')
    expect(missing).toEqual([{ text: 'network: GET api.example.com' }])
    const wider = { ...asks, grants: { ...asks.grants, memory: true } }
    expect((await tryChange('asks', 'grant', { hash, permit: wider })).status).toBe(409)
    const other = 'a'.repeat(64)
    expect((await tryChange('asks', 'grant', { hash: other, permit: asks })).status).toBe(409)
    await changePlugin('asks', 'grant', { hash, permit: asks })
    expect((await changePlugin('asks', 'enable')).plugin).toMatchObject({
      state: 'enabled',
      missing: [],
    })
  })

  it('X2, Y23: goes on with a new version that asks for no more, from the next run on, and back again', async () => {
    withTool('grows')
    await addPlugin(pluginBundle('grows', 'one', network('GET')))
    await enablePlugin('grows')
    expect(await runOnce()).toContain('one')
    const next = pluginBundle('grows', 'two', { version: '1.1.0', ...network('GET') })
    expect((await addPlugin(next)).plugin).toMatchObject({ state: 'enabled', version: '1.1.0' })
    expect(await runOnce()).toContain('two')
    expect((await changePlugin('grows', 'rollback')).plugin.version).toBe('1.0.0')
    expect(await runOnce()).toContain('one')
  })

  it('Y23, E2: goes on working while a version waits that asks for more, until that is allowed', async () => {
    withTool('waiting')
    await addPlugin(pluginBundle('waiting', 'one', network('GET')))
    await enablePlugin('waiting')
    const next = pluginBundle('waiting', 'two', { version: '1.1.0', ...network('GET', 'POST') })
    const { plugin } = await addPlugin(next)
    expect(plugin).toMatchObject({ state: 'enabled', version: '1.0.0', missing: [] })
    expect(await runOnce()).toContain('one')
    const { update } = await showPlugin('waiting')
    expect(update).toMatchObject({
      version: '1.1.0',
      missing: [{ text: expect.any(String) as string }],
    })
    await changePlugin('waiting', 'grant', { hash: update.hash, permit: update.asks })
    expect(await runOnce()).toContain('two')
    expect(await showPlugin('waiting')).toMatchObject({ version: '1.1.0', waiting: [] })
  })

  it('E2: is switched off by a version that asks for more and is to be there at once, until that is allowed', async () => {
    withTool('wider')
    await addPlugin(pluginBundle('wider', 'one', network('GET')))
    await enablePlugin('wider')
    const next = pluginBundle('wider', 'two', { version: '1.1.0', ...network('GET', 'POST') })
    const { plugin, notes } = await addPlugin(next, { now: true })
    expect(plugin).toMatchObject({ state: 'disabled', version: '1.1.0' })
    expect(plugin.missing).toHaveLength(2) // the grant was for another version
    expect(notes.join()).toContain(
      'asks for more than was allowed, so it is disabled: network: POST',
    )
    expect(await runOnce()).toContain('tool_not_found')
    expect((await tryChange('wider', 'enable')).status).toBe(409)
    await enablePlugin('wider')
    expect(await runOnce()).toContain('two')
  })

  it('T24: may not be older than the one that is there, unless the operator says so', async () => {
    await addPlugin(pluginBundle('older', 'one', { version: '2.0.0' }))
    const old = pluginBundle('older', 'two', { version: '1.9.0' })
    const refused = await call('/api/operator/plugins', { json: { bundle: old } })
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('1.9.0 is older'),
    ])
    expect((await addPlugin(old, { allowDowngrade: true })).plugin.version).toBe('1.9.0')
  })

  it('P5: may not take the id of one that ships with the deployment, and the attempt is on record', async () => {
    const refused = await call('/api/operator/plugins', {
      json: { bundle: pluginBundle('kv', 'x') },
    })
    expect(refused.status).toBe(422)
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.at(-1)).toMatchObject({
      type: 'plugin_refused',
      data: { plugin: 'kv', code: 'plugin_name_collision' },
    })
  })

  it('P25: that does not start stays off and is listed, and the one before goes on', async () => {
    withTool('breaks')
    await addPlugin(pluginBundle('breaks', 'one'))
    await enablePlugin('breaks')
    const broken = {
      ...pluginBundle('breaks', 'two', { version: '1.1.0' }),
      code: 'throw new Error("no")',
    }
    const { plugin, notes } = await addPlugin(broken)
    expect(plugin).toMatchObject({ state: 'enabled', version: '1.0.0' })
    expect(notes.join()).toContain('does not start')
    expect(await runOnce()).toContain('one')
  })

  it('P3, P6: is called like any other tool, and each call is on record with plugin, version and tier', async () => {
    withTool('told')
    const { plugin } = await addPlugin(pluginBundle('told', 'one'))
    await changePlugin('told', 'enable')
    const { id } = await callJson('/api/sessions', { json: {} })
    const json = { task: 'go', wait: true }
    const { trace } = (await callJson(`/api/sessions/${id}/runs`, { json })).result
    const about = { plugin: 'told', version: '1.0.0', tier: 'community' }
    await expect
      .poll(
        async () => {
          const { records } = await callJson(`/api/operator/audit?trace=${trace}&limit=500`)
          return records.filter(({ data }: Answer) => data.tool === 'told__say')
        },
        { timeout: 60_000 },
      )
      .toMatchObject([
        { type: 'tool_started', session: id, principal: 'operator', data: about },
        { type: 'tool_finished', session: id, principal: 'operator', data: { ...about, ok: true } },
      ])
    const [started] = (
      await callJson(`/api/operator/audit?trace=${trace}&limit=500`)
    ).records.filter(({ type }: Answer) => type === 'tool_started')
    expect(started.data.definitionHash).toContain(plugin.hash) // E6: the very code that ran
  })

  it('survives a restart of everything', async () => {
    withTool('stays')
    await addPlugin(pluginBundle('stays', 'one'))
    await changePlugin('stays', 'enable')
    await abortAllDurableObjects()
    expect(await runOnce()).toContain('one')
  })

  it('T24: whose bundle was changed by one byte does not run', async () => {
    withTool('bytes')
    const { plugin } = await addPlugin(pluginBundle('bytes', 'one'))
    await changePlugin('bytes', 'enable')
    const key = `bundle:${plugin.hash}`
    const text = (await env.KV.get(key)) ?? ''
    await env.KV.put(key, text.replace('one', 'two'))
    expect(await runOnce()).toContain('one') // the database has the right one
    await env.DB.prepare(
      `UPDATE plugin_bundles SET text = replace(text, 'one', 'two') WHERE hash = ?1`,
    )
      .bind(plugin.hash)
      .run()
    expect(await runOnce()).not.toContain('two')
  })

  it('can be removed, and comes back only by being added', async () => {
    withTool('gone')
    await addPlugin(pluginBundle('gone', 'one'))
    await changePlugin('gone', 'enable')
    await callJson('/api/operator/plugins/gone', { method: 'DELETE' })
    expect(await runOnce()).toContain('tool_not_found')
    expect((await call('/api/operator/plugins/gone')).status).toBe(404)
  })
})

describe('a plugin of the deployment', () => {
  it('P4: can be switched off and on, and neither changed nor removed', async () => {
    upstream = installUpstream(callsTool('kv__list'))
    await changePlugin('kv', 'disable')
    expect(await runOnce()).toContain('tool_not_found')
    await changePlugin('kv', 'enable')
    expect(await runOnce()).not.toContain('tool_not_found')
    expect((await call('/api/operator/plugins/kv', { method: 'DELETE' })).status).toBe(409)
  })
})

describe('generations', () => {
  it('are listed, and an earlier one can be restored as a whole', async () => {
    withTool('whole')
    await addPlugin(pluginBundle('whole', 'one'))
    await changePlugin('whole', 'enable')
    const { generations } = await callJson('/api/operator/generations')
    await addPlugin(pluginBundle('whole', 'two', { version: '1.0.1' }))
    await changePlugin('whole', 'disable')
    expect(await runOnce()).toContain('tool_not_found')
    await callJson(`/api/operator/generations/${generations[0].number}/restore`, { json: {} })
    expect(await runOnce()).toContain('one')
  })
})
