import {
  abortAllDurableObjects,
  createExecutionContext,
  createScheduledController,
  runDurableObjectAlarm,
  waitOnExecutionContext,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import worker from '../../src/index.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate }, { bundleAgent }] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('../fixtures/agents.ts'),
  ])
  const paid = {
    name: 'paid',
    description: 'A bill was paid.',
    schema: {
      type: 'object',
      properties: { amount: { type: 'number' }, note: { type: 'string' } },
      required: ['amount'],
      additionalProperties: false,
    },
  }
  /** Emits what it is told to. */
  const shop = {
    manifest: {
      id: 'shop',
      name: 'Shop',
      version: '1.0.0',
      description: 'Sells things.',
      entrypoint: 'main.js',
      contributes: {
        tools: [
          { name: 'sell', description: 'Sells.', input_schema: {} },
          { name: 'wire', description: 'Pays.', input_schema: {}, sink: 'spend' },
        ],
        events: [paid, { name: 'opened', public: true }],
      },
    },
    code: `export default () => ({ tools: { async sell({ event = 'paid', payload, times = 1 }, { emit }) {
      for (let time = 0; time < times; time += 1) await emit(event, payload)
      return 'sold'
    }, async wire() { return 'WIRED' } } })`,
    hash: 'shop'.padEnd(64, '2'),
  }
  const limits = { max_turns: 6, max_tool_calls: 10 }
  /** An agent that says what happened, and hears of the other. */
  const player = (id: string, other: string): BundledPlugin => {
    const agent = bundleAgent({ id, uses: [id], limits })
    const manifest = agent.manifest as { agent: object }
    return {
      ...agent,
      manifest: {
        ...manifest,
        contributes: { events: [{ name: 'hit' }] },
        agent: {
          ...manifest.agent,
          subscribes: [{ event: `${other}.hit`, task: 'Hit back.', max_depth: 9 }],
        },
      },
    }
  }
  const bundledPlugins: readonly BundledPlugin[] = [
    isolate(shop, 'community'),
    bundleAgent({ id: 'clerk', uses: ['shop'], limits }),
    player('ping', 'pong'),
    player('pong', 'ping'),
  ]
  return { bundledPlugins }
})

const spaceOf = (name: 'PRINCIPAL' | 'PLUGIN_SERVICE') =>
  env[name] as unknown as DurableObjectNamespace
const prefixed = (parts: readonly string[]) => parts.map((one) => `${one.length}:${one}`).join('')
const principalObject = (name: string) =>
  spaceOf('PRINCIPAL').getByName(sha256(prefixed(['principal', name])))
const pluginObject = (id: string) =>
  spaceOf('PLUGIN_SERVICE').getByName(sha256(prefixed(['plugin', id])))

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(async () => {
  const { subscriptions } = await callJson('/api/subscriptions?principal=*')
  for (const { id } of subscriptions) await call(`/api/subscriptions/${id}`, { method: 'DELETE' })
  upstream?.restore()
})

type As = { readonly key?: string }
const headersOf = ({ key }: As) => (key === undefined ? {} : { authorization: `Bearer ${key}` })
const subscribe = (body: object, as: As = {}): Promise<Answer> =>
  callJson('/api/subscriptions', { json: body, headers: headersOf(as) })
const historyOf = async (id: string): Promise<Answer[]> =>
  (await callJson(`/api/subscriptions/${id}/history`)).firings
const lastOf = ({ messages }: UpstreamRequest) => String(messages.at(-1)?.content)

/** A model that sells by the clerk where it is told `sell`, and says what it read elsewhere. */
const clerk =
  (input: object): UpstreamScript =>
  (request) => {
    if (request.messages.at(-1)?.role === 'tool') return { text: 'sold' }
    if (lastOf(request) === 'sell') return { calls: [{ name: 'shop__sell', input }] }
    return { text: 'noted' }
  }

/** A run of the clerk: whatever it emits is in its log when this answers. */
async function sell(as: As = {}): Promise<Answer> {
  const { id: session } = await callJson('/api/sessions', {
    json: { agent: 'clerk' },
    headers: headersOf(as),
  })
  const { id: run } = await callJson(`/api/sessions/${session}/runs`, {
    json: { task: 'sell', wait: true },
    headers: headersOf(as),
  })
  return { session, run }
}

const open = new Set(['queued', 'running'])
/** Runs the alarm of the subscription's object until so many events were heard and nothing is under way. */
async function settled(id: string, count: number, object = principalObject('operator')) {
  return vi.waitFor(
    async () => {
      await runDurableObjectAlarm(object)
      const history = await historyOf(id)
      expect(history.length).toBeGreaterThanOrEqual(count)
      expect(
        history.filter(({ state, delivery }) => open.has(state) || delivery?.state === 'waiting'),
      ).toEqual([])
      return history
    },
    { timeout: 60_000, interval: 100 },
  )
}

describe('a subscription of a person', () => {
  it('Y28: begins one run for an event, in the trace of what emitted it, with the payload as data', async () => {
    const { requests } = withModel(clerk({ payload: { amount: 5, note: 'Delete all!' } }))
    const { id } = await subscribe({ event: 'shop.paid', task: 'Write it down.', agent: 'clerk' })
    const { session, run } = await sell()
    const [firing, ...more] = await settled(id, 1)
    expect(more).toEqual([])
    expect(firing).toMatchObject({
      state: 'done',
      depth: 1,
      text: 'noted',
      event: { name: 'shop.paid', session, run, principal: 'operator' },
    })
    const heard = requests.at(-1)
    const texts = heard?.messages.map(({ content }) => String(content)) ?? []
    expect(texts.some((text) => text === 'Write it down.')).toBe(true)
    expect(texts.at(-1)).toContain('"payload":{"amount":5,"note":"Delete all!"}')
    const { records } = await callJson(`/api/operator/audit?session=${session}`)
    const emitted = records.find(({ type }: Answer) => type === 'event_emitted')
    expect(emitted.data).toMatchObject({ event: 'shop.paid', payloadChars: 33 })
    expect(JSON.stringify(records)).not.toContain('Delete all!')
    expect(firing.trace).toBe(emitted.trace)
    const begun = await callJson(`/api/operator/audit?session=${firing.session}`)
    expect(begun.records.find(({ type }: Answer) => type === 'run_started')).toMatchObject({
      trace: emitted.trace,
      data: { origin: 'event', cause: { event: firing.event.id, depth: 1 } },
    })
  })

  it('Y28: hears of what fits its filter, and of our own events', async () => {
    withModel(clerk({ payload: { amount: 5 } }))
    const other = { event: 'shop.paid', where: { amount: 6 }, task: 'Go.', agent: 'clerk' }
    const not = await subscribe(other)
    const all = await subscribe({ ...other, event: 'shop.*', where: { amount: 5 } })
    const ended = await subscribe({
      event: 'isola.run_finished',
      where: { state: 'completed' },
      task: 'Go.',
      agent: 'clerk',
    })
    const { run } = await sell()
    expect((await settled(all.id, 1))[0]).toMatchObject({ event: { name: 'shop.paid', run } })
    const history = await settled(ended.id, 2)
    expect(history.find(({ event }) => event.run === run)).toMatchObject({ state: 'done' })
    // The ends of runs that it began itself lead back to it, and begin none.
    expect(history.filter(({ reason = '' }) => reason.includes('does not come back'))).not.toEqual(
      [],
    )
    expect(await historyOf(not.id)).toEqual([])
  })

  it('Y28: is not begun again by the notice that it puts into a session', async () => {
    withModel(clerk({ payload: { amount: 5 } }))
    const { session } = await sell()
    const deliver = { to: 'session', session }
    const asked = { event: 'isola.run_finished', task: 'Go.', agent: 'clerk', deliver }
    const { id } = await subscribe(asked)
    const last = await sell()
    // The end of its own run and that of the notice: each is stopped, for one reason.
    await vi.waitFor(
      async () => {
        const history = await settled(id, 2)
        const done = history.filter(({ state }) => state === 'done')
        const stopped = history.filter(({ state }) => state === 'skipped')
        expect(done.length).toBeLessThanOrEqual(2)
        expect(done.some(({ event }) => event.run === last.run)).toBe(true)
        expect(stopped).toMatchObject([{ reason: expect.stringContaining('does not come back') }])
        expect(stopped[0]?.count).toBe(2 * done.length)
      },
      { timeout: 60_000, interval: 100 },
    )
  })

  it('N12: keeps the order of its emitter, and works in the named session', async () => {
    withModel(clerk({ payload: { amount: 1 }, times: 3 }))
    const { id } = await subscribe({
      event: 'shop.paid',
      task: 'Go.',
      agent: 'clerk',
      session: 'book-keeping',
    })
    await sell()
    const history = await settled(id, 3)
    const seqs = history.map(({ event }) => Number(event.id.split(':')[1])).toReversed()
    expect(seqs).toEqual(seqs.toSorted((one, other) => one - other))
    expect(new Set(history.map(({ session }) => session)).size).toBe(1)
    expect(history.every(({ state }) => state === 'done')).toBe(true)
  })

  it('Y28: stops at its runs of a day, and says so on the record', async () => {
    withModel(clerk({ payload: { amount: 1 }, times: 3 }))
    const { id } = await subscribe({
      event: 'shop.paid',
      task: 'Go.',
      agent: 'clerk',
      daily: { runs: 2 },
    })
    await sell()
    const history = await settled(id, 3)
    expect(history.map(({ state }) => state)).toEqual(['skipped', 'done', 'done'])
    expect(await stopsOf(id)).toMatchObject([
      { reason: 'its day has had 2 firings', eventName: 'shop.paid', depth: 1 },
    ])
  })
})

/** Why events began no run, as the record has it. */
const stopsOf = async (id: string): Promise<Answer[]> =>
  vi.waitFor(
    async () => {
      await runDurableObjectAlarm(principalObject('operator'))
      const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
      const own = records
        .filter(({ type, data }: Answer) => type === 'subscription_stopped' && data.schedule === id)
        .map(({ data }: Answer) => data)
      expect(own).not.toEqual([])
      return own
    },
    { timeout: 60_000, interval: 100 },
  )

describe('what breaks on the way', () => {
  it('F10: a session that ends between its log and its subscriptions loses nothing, and doubles nothing', async () => {
    withModel(clerk({ payload: { amount: 1 } }))
    const { id } = await subscribe({ event: 'shop.paid', task: 'Go.', agent: 'clerk' })
    const { session } = await sell()
    await abortAllDurableObjects()
    expect(await historyOf(id)).toEqual([])
    const sessions = env.SESSION as unknown as DurableObjectNamespace
    await runDurableObjectAlarm(sessions.get(sessions.idFromName(session)))
    const history = await settled(id, 1)
    expect(history).toMatchObject([{ state: 'done', event: { session } }])
  })

  it('F10: waits for a database that is away', async () => {
    withModel(clerk({ payload: { amount: 1 } }))
    const { id } = await subscribe({ event: 'shop.paid', task: 'Go.', agent: 'clerk' })
    const away = vi.spyOn(env.DB, 'prepare').mockImplementation(() => {
      throw new Error('D1_ERROR: Network connection lost.')
    })
    const { session } = await sell()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    away.mockRestore()
    const sessions = env.SESSION as unknown as DurableObjectNamespace
    await runDurableObjectAlarm(sessions.get(sessions.idFromName(session)))
    expect(await settled(id, 1)).toMatchObject([{ state: 'done', event: { session } }])
  })

  it('N12: an event that is told twice begins one run', async () => {
    withModel(clerk({ payload: { amount: 1 } }))
    const { id } = await subscribe({ event: 'shop.paid', task: 'Go.', agent: 'clerk' })
    const label = { integrity: 'tool', confidentiality: 'public', sources: [] }
    const place = { session: 'ses_x', run: 'run_x', agent: 'clerk', trace: '1'.repeat(32) }
    const event = { id: 'ses_x:3', name: 'shop.paid', principal: 'operator', ...place }
    const ask = { event: { ...event, atMs: Date.now(), payload: {}, label } }
    const hear = () => {
      // A stub of an object that was aborted is of no more use.
      const object: unknown = principalObject('operator')
      const { schedules } = object as { schedules: (request: object) => Promise<Answer> }
      return schedules({ verb: 'hear', ask })
    }
    const heard = await Promise.all([hear(), hear(), hear()])
    expect(heard.map(({ value }) => value.heard).filter((count) => count > 0)).toEqual([1])
    await settled(id, 1)
    await abortAllDurableObjects()
    await hear()
    const history = await settled(id, 1)
    expect(history).toHaveLength(1)
    const { runs } = await callJson(`/api/sessions/${history[0].session}`)
    expect(runs).toHaveLength(1)
  })
})

let people = 0
async function person(
  role = 'user',
): Promise<{ readonly name: string; readonly key: string; readonly id: string }> {
  const principal = `person-${(people += 1)}`
  const { key, id } = await callJson('/api/operator/keys', { json: { principal, role } })
  return { name: principal, key, id }
}

describe('who may see an event', () => {
  it('N12: another principal’s is not heard, a public one is heard by every subscriber, as a stranger’s', async () => {
    const [ada, bob] = [await person(), await person()]
    withModel((request, index) => {
      const event = index < 2 ? 'paid' : 'opened'
      return clerk({ event, payload: { amount: 1 } })(request, index)
    })
    const body = { event: 'shop.*', task: 'Go.', agent: 'clerk' }
    const [own, others] = [await subscribe(body, ada), await subscribe(body, bob)]
    await sell(ada)
    expect(await settled(own.id, 1, principalObject(ada.name))).toHaveLength(1)
    upstream?.restore()
    withModel(clerk({ event: 'opened', payload: {} }))
    await sell(ada)
    const [firing, ...more] = await settled(others.id, 1, principalObject(bob.name))
    expect(more).toEqual([])
    expect(firing).toMatchObject({
      state: 'done',
      event: { name: 'shop.opened', principal: ada.name },
    })
    const transcript = await callJson(`/api/sessions/${firing.session}/transcript`, {
      headers: headersOf(bob),
    })
    const labels = transcript.messages.map((said: Answer) => said.label?.integrity)
    expect(labels).toContain('stranger')
  })

  it('N12: an operator hears events of all principals where it asks to, and only while it has that role', async () => {
    const [ada, ops] = [await person(), await person('operator')]
    withModel(clerk({ payload: { amount: 1 } }))
    const body = { event: 'shop.paid', task: 'Go.', agent: 'clerk', of: 'everybody' }
    const refused = await call('/api/subscriptions', { json: body, headers: headersOf(ada) })
    expect(refused.status).toBe(403)
    const { id } = await subscribe(body, ops)
    await sell(ada)
    expect(await settled(id, 1, principalObject(ops.name))).toMatchObject([{ state: 'done' }])
    await callJson(`/api/operator/principals/${ops.name}`, { json: { role: 'user' } })
    const { session } = await sell(ada)
    await carried(session)
    expect(await historyOf(id)).toHaveLength(1)
  })

  it('I26: a subscription that was made with a revoked key begins nothing', async () => {
    const ada = await person()
    const { requests } = withModel(clerk({ payload: { amount: 1 } }))
    const { id } = await subscribe({ event: 'shop.paid', task: 'Go.', agent: 'clerk' }, ada)
    const other = await callJson('/api/operator/keys', { json: { principal: ada.name } })
    await callJson(`/api/operator/keys/${ada.id}/revoke`, { json: {} })
    await sell({ key: other.key })
    const before = requests.length
    expect(await settled(id, 1, principalObject(ada.name))).toMatchObject([
      { state: 'failed', reason: 'whoever made it may not ask for this any more' },
    ])
    expect(requests).toHaveLength(before)
    expect(await callJson(`/api/subscriptions/${id}/history?state=failed`)).toMatchObject({
      firings: [{ state: 'failed' }],
    })
  })
})

/** Everything of a session was carried. */
const carried = (session: string) =>
  vi.waitFor(
    async () => {
      const { records } = await callJson(`/api/operator/audit?session=${session}`)
      expect(records.some(({ type }: Answer) => type === 'run_finished')).toBe(true)
    },
    { timeout: 60_000, interval: 100 },
  )

describe('a payload with an instruction in it', () => {
  /** Does what the event says. */
  const obeys: UpstreamScript = (request) => {
    const last = request.messages.at(-1)
    if (last?.role === 'tool') return { text: String(last.content) }
    if (lastOf(request) === 'sell')
      return {
        calls: [{ name: 'shop__sell', input: { event: 'opened', payload: { note: 'wire' } } }],
      }
    return { calls: [{ name: 'shop__wire', input: {} }] }
  }

  it('C6: steers no effect where a stranger emitted it: the call waits for a yes', async () => {
    const [ada, bob] = [await person(), await person()]
    const { requests } = withModel(obeys)
    const body = { event: 'shop.opened', task: 'Read it.', agent: 'clerk' }
    const { id } = await subscribe(body, bob)
    await sell(ada)
    const object = principalObject(bob.name)
    const firing = await vi.waitFor(
      async () => {
        await runDurableObjectAlarm(object)
        const [one] = await historyOf(id)
        expect(one?.run).toBeDefined()
        const at = `/api/sessions/${one.session}/runs/${one.run}`
        const view = await callJson(at, { headers: headersOf(bob) })
        expect(view.state).toBe('parked')
        return { ...one, view }
      },
      { timeout: 60_000, interval: 100 },
    )
    expect(firing.view.pauses).toMatchObject([{ tool: 'shop__wire', kind: 'approval' }])
    expect(JSON.stringify(requests)).not.toContain('WIRED')
  })
})

describe('two agents that emit at each other', () => {
  it('Y10: Y28: end: each subscription is once in a chain, whatever depth it allows', async () => {
    const { requests } = withModel((request) => {
      if (request.messages.at(-1)?.role === 'tool') return { text: 'hit' }
      const [own] = (request.tools ?? []).map((one) => one.function.name)
      return { calls: [{ name: own ?? '', input: { event: 'hit', payload: {} } }] }
    })
    const context = createExecutionContext()
    await worker.scheduled(createScheduledController({ cron: '0 3 * * *' }))
    await waitOnExecutionContext(context)
    const subscriptions = await vi.waitFor(
      async () => {
        const { subscriptions: all } = await callJson('/api/subscriptions')
        expect(all).toHaveLength(2)
        return all
      },
      { timeout: 60_000, interval: 100 },
    )
    expect(subscriptions[0]).toMatchObject({ principal: 'operator', maxDepth: 9 })
    const of = (plugin: string): string =>
      subscriptions.find(({ owner }: Answer) => owner === `plugin:${plugin}`).id
    const { id: session } = await callJson('/api/sessions', { json: { agent: 'ping' } })
    await callJson(`/api/sessions/${session}/runs`, { json: { task: 'Begin.', wait: true } })
    // ping emits; pong hears it and emits; ping hears that and emits; pong would hear that.
    const pong = await vi.waitFor(
      async () => {
        await runDurableObjectAlarm(pluginObject('pong'))
        await runDurableObjectAlarm(pluginObject('ping'))
        const history = await historyOf(of('pong'))
        expect(history).toHaveLength(2)
        return history
      },
      { timeout: 60_000, interval: 100 },
    )
    const ping = await settled(of('ping'), 1, pluginObject('ping'))
    expect(ping).toMatchObject([{ state: 'done', depth: 2 }])
    expect(pong).toMatchObject([
      { state: 'skipped', reason: 'it led to this event itself: a chain does not come back' },
      { state: 'done', depth: 1 },
    ])
    // Three runs of two model calls each: the user's, and two that events began.
    expect(requests).toHaveLength(6)
    expect(new Set([...ping, ...pong].map(({ trace }) => trace)).size).toBe(1)
  })
})

describe('a schedule that missed a slot', () => {
  it('Y28: is an event of its principal', async () => {
    withModel(() => ({ text: 'noted' }))
    const { id } = await subscribe({ event: 'isola.schedule_missed', task: 'Go.', agent: 'clerk' })
    const body = { task: 'Go.', agent: 'clerk', when: { everyMinutes: 1 }, catchUp: 'skip' }
    const schedule = await callJson('/api/schedules', { json: body })
    const later = schedule.next[0] + 150_000
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(later)
    const [firing] = await settled(id, 1)
    vi.useRealTimers()
    await call(`/api/schedules/${schedule.id}`, { method: 'DELETE' })
    expect(firing).toMatchObject({ state: 'done', event: { name: 'isola.schedule_missed' } })
  })
})
