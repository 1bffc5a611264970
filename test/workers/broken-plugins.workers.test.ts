import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, expect, it, vi } from 'vitest'
import { call, callJson } from '../fakes/client.ts'
import {
  addPlugin,
  callsTool,
  changePlugin,
  pluginBundle,
  runOnce,
  showPlugin,
  tryChange,
} from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())
const runWith = async (tool: string): Promise<string> => {
  upstream?.restore()
  upstream = installUpstream(callsTool(tool))
  return runOnce()
}
const withCode = (id: string, code: string, version = '1.0.0') => ({
  ...pluginBundle(id, '', { version }),
  code,
})
const saying = (body: string) =>
  `export default () => ({ tools: { async say(input, can) { ${body} } } })`
/** What `isola doctor` and `isola plugin doctor` show. */
const listed = async (id: string): Promise<string | undefined> => {
  const { plugins } = await callJson('/api/operator/health')
  return plugins.find(({ plugin }: { plugin: string }) => plugin === id)?.message
}

/** A neighbour, which works whatever the others do. */
async function addNeighbour(): Promise<void> {
  if ((await call('/api/operator/plugins/neighbour')).status === 200) return
  await addPlugin(pluginBundle('neighbour', 'well'))
  await changePlugin('neighbour', 'enable')
}

it.each([
  ['throws', 'throw new Error("no")', 'the module failed'],
  ['syntax', 'export default () => ({', 'cannot be loaded'],
  ['sleeps', 'await new Promise(() => {}); export default () => ({})', ''],
  ['spins-off', 'export default () => new Promise(() => {})', 'must return an object at once'],
  ['other', 'export default () => ({ tools: { other() {} } })', 'say'],
  ['more', 'export default () => ({ tools: { say() {}, more() {} } })', 'more'],
  ['none', 'export default 7', 'must be the register function'],
])(
  'P25: a plugin that %s at load is off and listed, and its neighbour goes on',
  async (id, code, why) => {
    await addNeighbour()
    await addPlugin(withCode(`load-${id}`, code))
    const refused = await tryChange(`load-${id}`, 'enable')
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining('plugin_'),
    ])
    expect(await listed(`load-${id}`)).toContain(why)
    expect((await showPlugin(`load-${id}`)).state).not.toBe('enabled')
    expect(await runWith(`load-${id}__say`)).toContain('tool_not_found')
    expect(await runWith('neighbour__say')).toContain('well')
  },
)

it('P25: a wrong manifest is refused with the path of what is wrong', async () => {
  const { code, files, manifest } = pluginBundle('wrong', 'x')
  const bundle = {
    code,
    files,
    manifest: { ...manifest, contributes: { tools: [{ name: 'Not OK' }] } },
  }
  const refused = await call('/api/operator/plugins', { json: { bundle } })
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining('contributes.tools.0.name'),
  ])
})

it.each([
  ['garbage', 'return { at: () => {} }', 'not JSON'],
  ['forty', 'return "x".repeat(40_000_000)', 'more than 1 MiB'],
  ['crash', 'null.x', 'failed'],
])(
  'P25: a call that answers %s fails alone, and five in a row switch the plugin off',
  async (id, body, why) => {
    await addNeighbour()
    await addPlugin(pluginBundle(`call-${id}`, 'good'))
    await changePlugin(`call-${id}`, 'enable')
    expect(await runWith(`call-${id}__say`)).toContain('good')
    await addPlugin(withCode(`call-${id}`, saying(body), '1.1.0'))
    for (let left = 5; left > 0; left -= 1) {
      const said = await runWith(`call-${id}__say`)
      expect(said).toContain(why)
    }
    const message = await vi.waitFor(
      async () => (await listed(`call-${id}`)) ?? Promise.reject(new Error('not yet')),
      { timeout: 60_000, interval: 50 },
    )
    expect(message).toMatch(
      new RegExp(
        `failed 5 times in a row.*1\\.0\\.0 was there before: isola plugin rollback call-${id}`,
      ),
    )
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.at(-1)).toMatchObject({ type: 'plugin_tripped', data: { plugin: `call-${id}` } })
    expect(await runWith('neighbour__say')).toContain('well')
    await abortAllDurableObjects()
    expect((await showPlugin(`call-${id}`)).state).toBe('disabled')
    expect((await changePlugin(`call-${id}`, 'rollback')).plugin).toMatchObject({
      version: '1.0.0',
      state: 'enabled',
    })
    expect(await runWith(`call-${id}__say`)).toContain('good')
    expect(await listed(`call-${id}`)).toBeUndefined()
  },
)

it('P25: a bundle that is gone switches its plugin off, until it is there again', async () => {
  await addNeighbour()
  const { plugin } = await addPlugin(pluginBundle('lost', 'found'))
  // An object that had used the plugin would still know it by its hash: this one has not.
  await changePlugin('lost', 'enable')
  const key = `bundle:${plugin.hash}`
  const text = (await env.KV.get(key)) ?? ''
  await env.KV.delete(key)
  await env.DB.prepare('DELETE FROM plugin_bundles WHERE hash = ?1').bind(plugin.hash).run()
  await abortAllDurableObjects()
  await changePlugin('web-search', 'enable') // a change: every object reads the catalog anew
  expect(await runWith('lost__say')).toContain('tool_not_found')
  expect(await listed('lost')).toContain('add it again')
  expect(await runWith('neighbour__say')).toContain('well')
  await env.KV.put(key, text)
  await vi.waitFor(async () => expect(await runWith('lost__say')).toContain('found'), {
    timeout: 60_000,
    interval: 300,
  })
  await vi.waitFor(async () => expect(await listed('lost')).toBeUndefined(), { timeout: 60_000 })
})
