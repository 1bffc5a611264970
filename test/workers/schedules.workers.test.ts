import {
  abortAllDurableObjects,
  createExecutionContext,
  createScheduledController,
  runDurableObjectAlarm,
  waitOnExecutionContext,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import worker from '../../src/index.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import {
  historyOf,
  laterMs,
  loseAlarm,
  make,
  minuteMs,
  ownObject,
  principals,
  removeSchedules,
  ringAt,
  rowsOf,
  setTime,
  settle,
  startMs,
} from '../fakes/schedule-world.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(async () => {
  await removeSchedules()
  upstream?.restore()
  vi.useRealTimers()
})

async function tick(cron = '* * * * *'): Promise<void> {
  const context = createExecutionContext()
  const controller = createScheduledController({ cron, scheduledTime: new Date() })
  await worker.scheduled(controller)
  await waitOnExecutionContext(context)
}

describe('a schedule of a person', () => {
  it('M9: works in a session of its own at its time, and tells its principal what came of it', async () => {
    const { requests } = withModel(() => ({ text: 'Two tickets are open.' }))
    setTime(startMs)
    const made = await make({ task: 'Count the open tickets.', when: { cron: '*/5 * * * *' } })
    expect(made).toMatchObject({
      state: 'active',
      principal: 'operator',
      owner: 'principal:operator',
    })
    expect(made.next[0]).toBe(Date.UTC(2026, 10, 24, 6, 5))

    await ringAt(startMs + minuteMs)
    expect(await historyOf(made.id)).toEqual([])
    const [slot] = await settle(made.id, made.next[0])
    expect(slot).toMatchObject({
      slotMs: made.next[0],
      state: 'done',
      text: 'Two tickets are open.',
      tokens: 110,
      delivery: { to: 'principal', state: 'delivered' },
    })
    const transcript = await callJson(`/api/sessions/${slot.session}/transcript`)
    expect(transcript.messages[0].text).toContain('Count the open tickets.')
    expect((await callJson('/api/notices')).notices[0]).toMatchObject({
      schedule: made.id,
      text: 'Two tickets are open.',
    })
    expect(requests).toHaveLength(1)
    expect((await callJson(`/api/schedules/${made.id}`)).next[0]).toBe(
      Date.UTC(2026, 10, 24, 6, 10),
    )
  })

  it('F10: F11: fires a slot once for any alarm: alarms twice, the watchdog twice, an object that was aborted', async () => {
    withModel(() => ({ text: 'done' }))
    setTime(startMs)
    const { id, next } = await make({ task: 'Go.', when: { everyMinutes: 10 } })
    setTime(next[0] + 3 * minuteMs)
    await tick()
    await Promise.all([tick(), runDurableObjectAlarm(ownObject()), tick()])
    await abortAllDurableObjects()
    await Promise.all([runDurableObjectAlarm(ownObject()), tick()])
    const slots = await settle(id, next[0] + 3 * minuteMs)
    expect(slots).toHaveLength(1)
    expect(slots[0]).toMatchObject({ slotMs: next[0], state: 'done' })
    const { runs } = await callJson(`/api/sessions/${slots[0].session}`)
    expect(runs).toHaveLength(1)
  })

  it('is not moved by being listed, shown or tried out', async () => {
    setTime(startMs)
    const made = await make({
      task: 'Go.',
      when: { cron: '0 9 * * 1-5', timeZone: 'Europe/Berlin' },
    })
    setTime(startMs + 30 * minuteMs)
    const read = async () => [
      (await callJson(`/api/schedules/${made.id}`)).next,
      (await callJson('/api/schedules')).schedules.find(({ id }: Answer) => id === made.id).next,
    ]
    for (let time = 0; time < 3; time += 1) expect(await read()).toEqual([made.next, made.next])
    const body = { task: 'Go.', when: { everyMinutes: 5 }, dryRun: true }
    const { id: tried, next } = await make(body)
    expect(next).toHaveLength(5)
    expect((await call(`/api/schedules/${tried}`)).status).toBe(404)
  })

  it('F11: is found by the watchdog when its alarm is lost', async () => {
    withModel(() => ({ text: 'done' }))
    setTime(laterMs)
    const { id, next } = await make({ task: 'Go.', when: { everyMinutes: 30 } })
    await ringAt(laterMs) // its list is told
    await loseAlarm()
    setTime(next[0] + 5 * minuteMs)
    expect(await rowsOf(id)).toEqual([])
    await tick()
    expect(await rowsOf(id)).toEqual([{ slot_ms: next[0] }])
    const slots = await settle(id, next[0] + 5 * minuteMs)
    expect(slots).toMatchObject([{ slotMs: next[0], state: 'done' }])
  })

  it('asks no model where its check finds nothing to do', async () => {
    const { requests } = withModel(() => ({ text: 'The price fell.' }))
    setTime(startMs)
    await callJson('/api/operator/plugins/kv/enable', { json: {} })
    const { id, next } = await make({
      task: 'Say what is new.',
      when: { everyMinutes: 5 },
      check: { tool: 'kv__get', input: { key: 'due' } },
    })
    const [idle] = await settle(id, next[0])
    expect(idle).toMatchObject({
      state: 'skipped',
      reason: 'its check found nothing to do',
      tokens: 0,
    })
    expect(requests).toHaveLength(0)
  })

  it('pauses itself after failures in a row, and tells why', async () => {
    withModel(() => ({ status: 401 }))
    setTime(startMs)
    const { id } = await make({ task: 'Go.', when: { everyMinutes: 60 }, stopAfterFailures: 2 })
    for (let time = 1; time <= 2; time += 1) {
      await callJson(`/api/schedules/${id}/run`, { json: {} })
      await settle(id, startMs + time * minuteMs)
    }
    const shown = await callJson(`/api/schedules/${id}`)
    expect(shown).toMatchObject({ state: 'paused', failures: 2, next: [] })
    expect(shown.paused.reason).toContain('failed 2 times in a row')
    const { notices } = await callJson('/api/notices')
    const own = notices.filter(({ schedule }: Answer) => schedule === id)
    expect(own).toMatchObject([{ text: expect.stringContaining('is paused') }])
    const again = await callJson(`/api/schedules/${id}/resume`, { json: {} })
    expect(again).toMatchObject({ state: 'active', failures: 0 })
  })

  it('tells a session of its principal as a message, for which no model is asked', async () => {
    const { requests } = withModel(() => ({ text: 'Rain at noon.' }))
    setTime(startMs)
    const { id: session } = await callJson('/api/sessions', { json: {} })
    await callJson(`/api/sessions/${session}/runs`, { json: { task: 'Hello.', wait: true } })
    const { id, next } = await make({
      name: 'Weather',
      task: 'Say the weather.',
      when: { everyMinutes: 5 },
      deliver: { to: 'session', session },
    })
    const [slot] = await settle(id, next[0])
    expect(slot.delivery).toMatchObject({ to: 'session', state: 'delivered' })
    const said = JSON.stringify(await callJson(`/api/sessions/${session}/transcript`))
    expect(said).toContain('Notice of the schedule \\"Weather\\":')
    expect(said).toContain('Rain at noon.')
    expect(requests).toHaveLength(2)
  })

  it('posts to a host that the operator opened, again until it is taken, by one key', async () => {
    const posts: { readonly key: string | null; readonly body: Answer }[] = []
    upstream = installUpstream(
      () => ({ text: 'Done.' }),
      async (request) => {
        posts.push({ key: request.headers.get('idempotency-key'), body: await request.json() })
        return new Response(null, { status: posts.length < 2 ? 503 : 204 })
      },
    )
    setTime(startMs)
    const url = 'https://hooks.example.com/in'
    const dueMs = startMs + 5 * minuteMs
    const when = { at: [new Date(dueMs).toISOString()] }
    const { id } = await make({ task: 'Go.', when, deliver: { to: 'webhook', url } })
    for (let ring = 0; ring < 3; ring += 1) await ringAt(dueMs + ring * 2_000)
    await vi.waitFor(async () => {
      await ringAt(Date.now() + 2_000)
      expect((await historyOf(id))[0].delivery?.error).toContain(
        'isola http allow hooks.example.com',
      )
    })
    await callJson('/api/operator/http', { json: { allow: ['hooks.example.com'] } })
    for (let ring = 1; ring < 30 && posts.length < 2; ring += 1) await ringAt(Date.now() + minuteMs)
    const [slot] = await settle(id, Date.now())
    expect(slot.delivery).toMatchObject({ to: 'webhook', state: 'delivered' })
    expect(new Set(posts.map(({ key }) => key)).size).toBe(1)
    expect(posts.map(({ body }) => body)).toMatchObject([
      { schedule: id, text: 'Done.' },
      { schedule: id, text: 'Done.' },
    ])
  })

  it('M9: is proposed by an agent that found the tool for it, and made once its person allows it', async () => {
    const input = { name: 'Standup', task: 'Ask for the standup.', cron: '0 9 * * 1-5' }
    const { requests } = withModel((request, index) => {
      if (index === 0)
        return { calls: [{ name: 'isola__find', input: { queries: ['remind me every weekday'] } }] }
      if (index === 1)
        return { calls: [{ name: 'isola__call', input: { name: 'schedule__create', input } }] }
      expect(JSON.stringify(request.messages.at(-1))).toContain('next')
      return { text: 'It is set.' }
    })
    setTime(startMs)
    await callJson('/api/settings', { json: { timeZone: 'Europe/Berlin' } })
    const { id: session } = await callJson('/api/sessions', { json: {} })
    const path = `/api/sessions/${session}/runs`
    const asked = { task: 'Every weekday at 9, ask for the standup.', wait: true }
    const parked = await callJson(path, { json: asked })
    expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('schedule__create')
    expect(parked.pauses).toMatchObject([{ kind: 'approval', tool: 'schedule__create', input }])
    expect((await callJson('/api/schedules')).schedules).toEqual([])
    const [{ call: waiting, argsHash }] = parked.pauses
    const decision = { call: waiting, decision: 'approve', argsHash }
    await callJson(`${path}/${parked.id}/decisions`, { json: decision })
    await vi.waitFor(async () => {
      const { schedules } = await callJson('/api/schedules')
      expect(schedules).toMatchObject([
        {
          name: 'Standup',
          when: { cron: '0 9 * * 1-5', timeZone: 'Europe/Berlin' },
          next: expect.arrayContaining([Date.UTC(2026, 10, 24, 8)]),
        },
      ])
    })
    // Nothing of it is in what every run is shown.
    expect(requests[0]?.tools?.map((tool) => tool.function.name)).not.toContain('schedule__create')
  })

  it.each([
    [{ task: 'Go.' }, 'when'],
    [{ task: 'Go.', when: { cron: '0 9 * *' } }, 'when.cron'],
    [{ task: 'Go.', when: { cron: '0 9 * * *', timeZone: 'Mars/Olympus' } }, 'when.timeZone'],
    [{ task: 'Go.', when: { at: ['2020-01-01T00:00:00Z'] } }, 'when'],
    [{ when: { everyMinutes: 5 } }, 'task'],
    [{ tool: 'no__such', when: { everyMinutes: 5 } }, 'tool'],
    [{ plugin: 'kv' }, 'plugin'],
    [
      {
        task: 'Go.',
        when: { everyMinutes: 5 },
        deliver: { to: 'webhook', url: 'http://a.example' },
      },
      'deliver.url',
    ],
  ])('refuses %j, and says which field is wrong', async (json, param) => {
    const answer = await call('/api/schedules', { json })
    expect(answer.status).toBe(400)
    expect((await answer.json<Answer>()).error).toMatchObject({ param })
  })

  it('is made once under a key, and another one is refused under it', async () => {
    withModel(() => ({ text: 'done' }))
    setTime(startMs)
    const headers = { 'idempotency-key': 'one' }
    const json = { task: 'Go.', when: { cron: '0 9 * * *' } }
    const first = await callJson('/api/schedules', { json, headers })
    expect((await callJson('/api/schedules', { json, headers })).id).toBe(first.id)
    const other = { ...json, task: 'Stop.' }
    expect((await call('/api/schedules', { json: other, headers })).status).toBe(422)
    const fired = await callJson(`/api/schedules/${first.id}/run`, { json: {}, headers })
    const again = await callJson(`/api/schedules/${first.id}/run`, { json: {}, headers })
    expect(again.slotMs).toBe(fired.slotMs)
    expect(await settle(first.id, startMs + minuteMs)).toMatchObject([{ state: 'done' }])
  })

  it('ends with the key that it was made with', async () => {
    withModel(() => ({ text: 'done' }))
    setTime(startMs)
    const issued = await callJson('/api/operator/keys', {
      json: { principal: 'nora', role: 'user' },
    })
    const headers = { authorization: `Bearer ${issued.key}` }
    const body = { task: 'Go.', when: { everyMinutes: 5 } }
    const made = await callJson('/api/schedules', { json: body, headers })
    await callJson(`/api/operator/keys/${issued.id}/revoke`, { json: {} })
    const nora = principals.getByName(sha256('9:principal4:nora'))
    await ringAt(made.next[0], nora)
    const { slots } = await callJson(`/api/schedules/${made.id}/history`)
    expect(slots).toMatchObject([{ state: 'failed', reason: expect.stringContaining('may not') }])
    // Only operators and auditors see another principal's schedule.
    const other = await callJson('/api/operator/keys', {
      json: { principal: 'olaf', role: 'user' },
    })
    const asOlaf = { headers: { authorization: `Bearer ${other.key}` } }
    expect((await call(`/api/schedules/${made.id}`, asOlaf)).status).toBe(404)
  })
})

describe("a manifest's schedule", () => {
  const services = env.PLUGIN_SERVICE as unknown as DurableObjectNamespace
  const monitor = () => services.getByName(sha256('14:plugin-service13:price-monitor'))

  it('Y10: the price monitor works by its own clock, up to the notice of a price that fell', async () => {
    let price = '40.00'
    upstream = installUpstream(
      () => ({ text: 'no model is asked' }),
      () =>
        new Response(
          `<script type="application/ld+json">{"price":"${price}","priceCurrency":"EUR"}</script>`,
          { headers: { 'content-type': 'text/html' } },
        ),
    )
    setTime(startMs)
    await callJson('/api/operator/http', { json: { allow: ['shop.example.com'] } })
    const plugin = await callJson('/api/operator/plugins/price-monitor')
    expect(plugin.state).toBe('disabled')
    await callJson('/api/operator/plugins/price-monitor/enable', { json: { hash: plugin.hash } })
    // The list of all of them is told by the object itself, a moment after its row.
    const own = await vi.waitFor(
      async () => {
        const { schedules } = await callJson('/api/schedules?principal=*')
        const found = schedules.find(({ owner }: Answer) => owner === 'plugin:price-monitor')
        expect(found).toMatchObject({ principal: 'operator', when: { cron: '0 */4 * * *' } })
        return found as Answer
      },
      { timeout: 60_000, interval: 20 },
    )
    expect(own.next[0]).toBe(Date.UTC(2026, 10, 24, 8))

    const watched = { url: 'https://shop.example.com/kettle', name: 'Kettle', threshold_percent: 5 }
    const at = [new Date(startMs + minuteMs).toISOString()]
    const { id } = await make({ tool: 'price-monitor__watch', input: watched, when: { at } })
    expect(await settle(id, startMs + minuteMs)).toMatchObject([{ state: 'done', tokens: 0 }])
    price = '34.00'
    await vi.waitFor(async () => {
      await ringAt(Math.max(Date.now(), own.next[0]) + 2_000, monitor())
      expect((await historyOf(own.id))[0]?.delivery).toMatchObject({ state: 'delivered' })
    })
    const { notices } = await callJson('/api/notices')
    const text = 'Kettle: 40.00 EUR → 34.00 EUR (-15.0 %) https://shop.example.com/kettle'
    expect(notices.find(({ schedule }: Answer) => schedule === own.id)).toMatchObject({ text })
    expect(upstream.requests).toHaveLength(0)

    await callJson('/api/operator/plugins/price-monitor/disable', { json: {} })
    expect((await call(`/api/schedules/${own.id}`)).status).toBe(404)
  })
})
