import { afterEach, expect, it, vi } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { call, callJson } from '../fakes/client.ts'
import {
  addPlugin,
  changePlugin,
  enablePlugin,
  pluginBundle,
  runOnce,
} from '../fakes/plugin-admin.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { CatalogApi, ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import { fromReply } from '#contracts/reply.ts'
import { boundMs } from '../../src/runtime/catalog/cached-set.ts'
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

it('G12: a stale copy of a removed plugin in KV brings nothing back', async () => {
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
    // The last word from before counts for a second.
    await wait(boundMs + 100)
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

const by: ChangeBy = { principal: 'operator', trace: 't', requestId: 'r', mayEnable: true }
/** Switches a plugin off as another isolate does: this one's copy of the set in force is as it was. */
const disableElsewhere = async (id: string) =>
  fromReply(await (catalogStub() as unknown as CatalogApi).change({ do: 'disable', id }, by))

/** Replaces a method of the Catalog object. */
const replaceInCatalog = (method: 'hold' | 'look', work: () => Promise<unknown>) =>
  runInDurableObject(catalogStub(), (instance) =>
    vi
      .spyOn(Object.getPrototypeOf(instance) as Record<typeof method, typeof work>, method)
      .mockImplementation(work),
  )

it.each([
  ['listens for it', undefined],
  ['hears nothing of it', () => wait(60_000)],
])('G12: a call under way that %s ends within the bound', async (name, hold) => {
  const id = `bound-${name.split(' ')[0]}`
  if (hold) await replaceInCatalog('hold', hold)
  const poller = await startPoller(id)
  await disableElsewhere(id)
  const revokedAtMs = Date.now()
  let [seen, lastUseAtMs] = [uses, revokedAtMs]
  while (Date.now() < revokedAtMs + 2 * boundMs) {
    if (uses > seen) [seen, lastUseAtMs] = [uses, Date.now()]
    await wait(5)
  }
  expect(lastUseAtMs - revokedAtMs).toBeLessThanOrEqual(boundMs + 50)
  await expectNoMoreUse(poller)
})

/** A model that calls one installed plugin and one that ships, and then says what both answered. */
async function runBoth(id: string): Promise<readonly string[]> {
  uses = 0
  const input = (name: string, of: object) => ({ name, input: of })
  upstream = installUpstream(
    ({ messages }) => {
      const answers = messages.filter(({ role }) => role === 'tool')
      if (answers.length > 0) return { text: JSON.stringify(answers.map(({ content }) => content)) }
      const stored = input('kv__set', { key: 'one', value: 'stored' })
      return { calls: [input(`${id}__say`, {}), stored].map((one) => input('isola__call', one)) }
    },
    () => {
      uses += 1
      return new Response('used')
    },
  )
  const texts = JSON.parse(await runOnce()) as readonly string[]
  upstream.restore()
  return texts
}

/** An installed plugin that has answered once, a bound ago. */
async function usedBefore(id: string): Promise<void> {
  const grants = { network: [{ host: 'poll.example.com', methods: ['GET'] }] }
  const code = `export default () => ({ tools: { async say(input, can) {
    return (await can.fetch('https://poll.example.com/')).text()
  } } })`
  await addPlugin({ ...pluginBundle(id, '', { grants }), code })
  await enablePlugin(id)
  const [own, shipped] = await runBoth(id)
  expect([own, shipped, uses]).toEqual([
    expect.stringContaining('used'),
    expect.not.stringContaining('error'),
    1,
  ])
  await wait(boundMs + 100)
}

it('G12: a plugin that was revoked before a call is refused, though the session has heard nothing of it', async () => {
  await usedBefore('unheard')
  uses = 0
  const call = { calls: [{ name: 'isola__call', input: { name: 'unheard__say', input: {} } }] }
  const revoked = async () => {
    await wait(boundMs + 100)
    await disableElsewhere('unheard')
  }
  upstream = installUpstream(
    ({ messages }, index) => {
      if (index === 0) return call
      if (index === 1) return { ...call, wait: revoked() }
      const answers = messages.filter(({ role }) => role === 'tool')
      return { text: JSON.stringify(answers.map(({ content }) => content)) }
    },
    () => {
      uses += 1
      return new Response('used')
    },
  )
  // The run has the plugin in its set of tools: only the grant epoch tells that it was revoked.
  expect([JSON.parse(await runOnce()), uses]).toEqual([
    [expect.stringContaining('used'), expect.stringContaining('tool_denied')],
    1,
  ])
})

it.each([
  ['cannot be reached', () => Promise.reject(new Error('unreachable'))],
  ['does not answer', () => wait(30_000)],
])(
  'G12: while the Catalog %s no call of an installed plugin begins after the bound, and a builtin tool works on',
  async (name, look) => {
    const id = `away-${name.split(' ')[0]}`
    await usedBefore(id)
    const spy = await replaceInCatalog('look', look)
    const [own, shipped] = await runBoth(id)
    expect([own, shipped, uses]).toEqual([
      expect.stringContaining('tool_denied'),
      expect.not.stringContaining('error'),
      0,
    ])
    spy.mockRestore()
  },
)
