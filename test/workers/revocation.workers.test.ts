import { afterEach, expect, it, vi } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { call, callJson } from '../fakes/client.ts'
import { addPlugin, changePlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { lengthPrefixed } from '#contracts/naming.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
let uses = 0
afterEach(() => {
  upstream?.restore()
  vi.restoreAllMocks()
})

const eventually = <T>(check: () => T | Promise<T>) =>
  vi.waitFor(check, { timeout: 60_000, interval: 20 })
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A plugin that uses what it was allowed for as long as it can, in a call that is under way. */
async function startPoller(id: string) {
  const grants = { network: [{ host: 'poll.example.com', methods: ['GET'] }], storage: '1mb' }
  const code = `export default () => ({ tools: { async say(input, can) {
    for (;;) {
      await can.storage.set('at', Date.now()).catch(() => {})
      await can.fetch('https://poll.example.com/').catch(() => {})
      await new Promise((done) => setTimeout(done, 30))
    }
  } } })`
  await addPlugin({ ...pluginBundle(id, '', { grants }), code })
  await enablePlugin(id)
  uses = 0
  upstream = installUpstream(
    ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: String(messages.at(-1)?.content) }
        : { calls: [{ name: 'isola__call', input: { name: `${id}__say`, input: {} } }] },
    () => {
      uses += 1
      return new Response('again')
    },
  )
  const { id: session } = await callJson('/api/sessions', { json: {} })
  const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
  await eventually(() => expect(uses).toBeGreaterThan(1))
  const finish = () =>
    eventually(async () => {
      const view = await callJson(`/api/sessions/${session}/runs/${run}`)
      expect(view.state).toBe('completed')
      return String(view.result.result)
    })
  return { session, finish }
}

/** From now on, nothing. */
async function expectNoMoreUse({ session, finish }: Awaited<ReturnType<typeof startPoller>>) {
  const before = uses
  await wait(700)
  expect(uses).toBe(before)
  expect(await finish()).toContain('tool_denied')
  const events = await (await call(`/api/sessions/${session}/events`)).text()
  expect(events).toContain('all: it was switched off')
}

it.each([
  ['disable', 'plugin_disabled', (id: string) => changePlugin(id, 'disable')],
  ['revoke', 'plugin_revoked', (id: string) => changePlugin(id, 'revoke')],
  [
    'remove',
    'plugin_removed',
    (id: string) => callJson(`/api/operator/plugins/${id}`, { method: 'DELETE' }),
  ],
] as const)(
  'G12: once %s is answered a call under way uses nothing more, and both are on record',
  async (verb, type, change) => {
    const poller = await startPoller(`poller-${verb}`)
    await change(`poller-${verb}`)
    await expectNoMoreUse(poller)
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.at(-1)).toMatchObject({
      type,
      data: { plugin: `poller-${verb}` },
    })
  },
)

it('G12: what KV still has of it brings nothing back', async () => {
  const poller = await startPoller('stale')
  const { keys } = await env.KV.list()
  const stale = await Promise.all(keys.map(async ({ name }) => [name, await env.KV.get(name)]))
  await callJson('/api/operator/plugins/stale', { method: 'DELETE' })
  for (const [name, text] of stale) await env.KV.put(name!, text!)
  await expectNoMoreUse(poller)
})

it.each([
  ['cannot be reached', () => Promise.reject(new Error('unreachable'))],
  ['does not answer', () => wait(30_000)],
])(
  'G12: a call under way uses nothing while the Catalog %s, is not ended by that, and goes on after',
  async (name, look) => {
    const poller = await startPoller(`blind-${name.split(' ')[0]}`)
    const catalog = env.CATALOG.getByName(sha256(lengthPrefixed(['catalog'])))
    const spy = await runInDurableObject(catalog as unknown as DurableObjectStub, (instance) =>
      vi.spyOn(Object.getPrototypeOf(instance) as { look: () => Promise<unknown> }, 'look'),
    )
    spy.mockImplementation(look)
    // What was looked up before is believed for a quarter of a second.
    await wait(500)
    const before = uses
    await wait(1_500)
    expect(uses).toBe(before)
    spy.mockRestore()
    await eventually(() => expect(uses).toBeGreaterThan(before + 1))
    await changePlugin(`blind-${name.split(' ')[0]}`, 'disable')
    await expectNoMoreUse(poller)
  },
)

const catalogStub = () =>
  env.CATALOG.getByName(sha256(lengthPrefixed(['catalog']))) as unknown as DurableObjectStub

it('F15: a call under way goes on when the Catalog is killed, and is told of what is taken back after', async () => {
  const poller = await startPoller('killed')
  await runInDurableObject(catalogStub(), (_instance, state) => state.abort('killed')).catch(
    () => {},
  )
  const before = uses
  await eventually(() => expect(uses).toBeGreaterThan(before + 2))
  await changePlugin('killed', 'disable')
  await expectNoMoreUse(poller)
})

it('F15: a call under way goes on while the Catalog is slow', async () => {
  const poller = await startPoller('slow')
  const spy = await runInDurableObject(catalogStub(), (instance) => {
    const proto = Object.getPrototypeOf(instance) as {
      look: (...given: never[]) => Promise<unknown>
    }
    const { look } = proto
    return vi.spyOn(proto, 'look').mockImplementation(async function (this: unknown, ...given) {
      await wait(700)
      return Reflect.apply(look, this, given)
    })
  })
  const before = uses
  await eventually(() => expect(uses).toBeGreaterThan(before + 2))
  spy.mockRestore()
  await changePlugin('slow', 'disable')
  await expectNoMoreUse(poller)
})
