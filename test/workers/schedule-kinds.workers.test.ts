import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import {
  historyOf,
  laterMs,
  loseAlarm,
  make,
  minuteMs,
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
beforeEach(() => setTime(startMs))
afterEach(async () => {
  await removeSchedules()
  upstream?.restore()
  vi.useRealTimers()
})

/** A plugin whose one tool answers this; for the rest as `pluginBundle` makes it. */
async function answering(id: string, answer: object): Promise<string> {
  const code = `export default () => ({ tools: { async say() { return ${JSON.stringify(answer)} } } })`
  await addPlugin({ ...pluginBundle(id, ''), code })
  await enablePlugin(id)
  return `${id}__say`
}
const changed = (id: string, json: object, init: object = {}) =>
  call(`/api/schedules/${id}`, { json, ...init })
const messageOf = async (response: Response) =>
  [response.status, (await response.json<Answer>()).error.message] as const

describe('a late slot', () => {
  it('F11: fires with any request: no tick of the trigger, no alarm', async () => {
    withModel(() => ({ text: 'done' }))
    setTime(laterMs)
    const { id, next } = await make({ task: 'Go.', when: { everyMinutes: 30 } })
    await ringAt(laterMs) // its list is told
    await loseAlarm()
    setTime(next[0] + 5 * minuteMs)
    expect(await rowsOf(id)).toEqual([])
    await callJson('/v1/models')
    await vi.waitFor(async () => expect(await rowsOf(id)).toEqual([{ slot_ms: next[0] }]))
    expect(await settle(id, next[0] + 5 * minuteMs)).toMatchObject([{ state: 'done' }])
  })
})

describe('a check in a Worker', () => {
  const when = { everyMinutes: 5 }
  it('Y10: costs 0 tokens while it says no, however often', async () => {
    const { requests } = withModel(() => ({ text: 'never' }))
    const tool = await answering('says-no', { shouldRun: false })
    const made = await make({ task: 'Work.', when, check: { tool } })
    for (const slotMs of made.next.slice(0, 3)) await settle(made.id, slotMs)
    const slots = await historyOf(made.id)
    expect(slots).toHaveLength(3)
    const reason = 'its check found nothing to do'
    for (const slot of slots)
      expect(slot).toMatchObject({ state: 'skipped', reason, tokens: 0, costUsd: 0 })
    const { today } = await callJson(`/api/schedules/${made.id}`)
    expect(today).toEqual({ runs: 3, tokens: 0, costUsd: 0 })
    expect(requests).toHaveLength(0)
  })

  it('Y10: lets the work begin where it says yes, which reads what it found', async () => {
    const { requests } = withModel(() => ({ text: 'Three are due.' }))
    const tool = await answering('says-yes', { shouldRun: true, due: 3 })
    const { id, next } = await make({ task: 'Work.', when, check: { tool } })
    const [slot] = await settle(id, next[0])
    expect(slot).toMatchObject({ state: 'done', text: 'Three are due.', tokens: 110 })
    expect(JSON.stringify(requests[0]?.messages)).toContain('What its check found')
    expect(JSON.stringify(requests[0]?.messages)).toContain('due')
  })
})

describe('a heartbeat', () => {
  const check = {
    tool: 'memory__recall',
    input: { scope: 'principal', query: 'todo' },
    has: 'notes',
  }
  const beat = { task: 'Look at your list.', heartbeat: true, check }

  it('M9: wakes in a session of its own that goes on, and is silent where there is nothing', async () => {
    const said = ['NOTHING', 'Milk is out.']
    const { requests } = withModel((_request, index) => ({ text: said[index] ?? 'more' }))
    await callJson('/api/operator/plugins/memory/enable', { json: {} })
    const { id, next } = await make({ ...beat, when: { everyMinutes: 30 } })
    const [idle] = await settle(id, next[0])
    expect(idle).toMatchObject({ state: 'skipped', tokens: 0 })
    expect(requests).toHaveLength(0)

    const json = { notes: [{ text: 'todo: milk' }] }
    await callJson('/api/memory', { json })
    await settle(id, next[1])
    await settle(id, next[2])
    const [told, silent] = await historyOf(id)
    expect(silent).toMatchObject({ state: 'done' })
    expect(silent).not.toHaveProperty('delivery')
    expect(told).toMatchObject({ state: 'done', text: 'Milk is out.' })
    expect(told.delivery).toMatchObject({ state: 'delivered' })
    expect(told.session).toBe(silent.session)
    const { messages } = await callJson(`/api/sessions/${told.session}/transcript`)
    expect(messages.filter(({ role }: Answer) => role === 'user')).toHaveLength(2)
  })

  it("M9: keeps to its hours in its person's time zone", async () => {
    await callJson('/api/settings', { json: { timeZone: 'America/New_York' } })
    const { when, next } = await make({ ...beat, when: { everyMinutes: 60, hours: '8-10' } })
    expect(when).toEqual({ cron: '*/60 8-9 * * *', timeZone: 'America/New_York' })
    const day = (hour: number, of = 24) => Date.UTC(2026, 10, of, hour)
    expect(next).toEqual([day(13), day(14), day(13, 25), day(14, 25), day(13, 26)])
    await callJson('/api/settings', { json: { timeZone: 'UTC' } })
  })

  it.each([
    [{ heartbeat: true, task: 'Look.' }, 'check'],
    [{ heartbeat: true, tool: 'kv__list', check: { tool: 'kv__list' } }, 'heartbeat'],
    [{ task: 'Go.', when: { everyMinutes: 7, hours: '8-22' } }, 'when.everyMinutes'],
    [{ task: 'Go.', when: { everyMinutes: 30, hours: '8-8' } }, 'when.hours'],
    [{ task: 'Go.', when: { everyMinutes: 30, timeZone: 'Europe/Berlin' } }, 'when.timeZone'],
    [{ task: 'Go.', deliver: { to: 'channel', channel: 'slack' } }, 'deliver.to'],
  ])('refuses %j, and says which field is wrong', async (json, param) => {
    const answer = await call('/api/schedules', { json: { when: { everyMinutes: 30 }, ...json } })
    expect(answer.status).toBe(400)
    const { error } = await answer.json<Answer>()
    expect(error).toMatchObject({ param })
    if (param === 'deliver.to') expect(error.message).toContain('there are no channels yet')
  })
})

describe('the language of a person', () => {
  it('is that in which what their schedules tell is asked for', async () => {
    const { requests } = withModel(() => ({ text: 'Drei sind offen.' }))
    expect((await call('/api/settings', { json: { language: 'German please' } })).status).toBe(400)
    const set = await callJson('/api/settings', { json: { language: 'de' } })
    expect(set).toEqual({ timeZone: 'UTC', language: 'de' })
    const { id, next } = await make({ task: 'Count.', when: { everyMinutes: 5 } })
    await settle(id, next[0])
    expect(JSON.stringify(requests[0]?.messages)).toContain('Answer in the language de')
    await callJson('/api/settings', { json: { language: 'en' } })
  })
})

describe('a schedule that is changed', () => {
  it('F11: keeps its next slot, or has that of its new times; a field of null is removed', async () => {
    withModel(() => ({ text: 'done' }))
    const check = { tool: 'kv__get', input: { key: 'due' } }
    await callJson('/api/operator/plugins/kv/enable', { json: {} })
    const { id, next } = await make({ task: 'Go.', when: { everyMinutes: 30 }, check })
    setTime(next[0] - 1_000)
    const named = await callJson(`/api/schedules/${id}`, { json: { name: 'Other', check: null } })
    expect(named).toMatchObject({
      name: 'Other',
      next: [next[0], next[1], next[2], next[3], next[4]],
    })
    expect(named).not.toHaveProperty('check')
    setTime(next[0] + 1_000)
    const json = { when: { cron: '0 9 * * *' }, task: 'Stop.' }
    const tried = await callJson(`/api/schedules/${id}`, { json: { ...json, dryRun: true } })
    expect(await callJson(`/api/schedules/${id}`)).toMatchObject({ work: { task: 'Go.' } })
    const later = await callJson(`/api/schedules/${id}`, { json })
    expect(later).toMatchObject({ work: { task: 'Stop.' }, next: tried.next, catchUp: 'once' })
    expect(later.next[0]).toBe(Date.UTC(2026, 10, 24, 9))
    expect(await settle(id, next[0] + 2_000)).toMatchObject([{ slotMs: next[0], state: 'done' }])
  })

  it.each([
    [{}, 'name'],
    [{ when: { cron: '0 9 * *' } }, 'when.cron'],
    [{ tool: 'no__such' }, 'tool'],
    [{ plugin: 'kv' }, 'plugin'],
    [{ agent: 'nobody' }, 'agent'],
    [{ when: { at: ['2020-01-01T00:00:00Z'] } }, 'when'],
  ])('refuses %j, and says which field is wrong', async (json, param) => {
    const { id } = await make({ task: 'Go.', when: { everyMinutes: 30 } })
    const answer = await changed(id, json)
    expect([400, 404]).toContain(answer.status)
    expect((await answer.json<Answer>()).error).toMatchObject({ param })
  })

  it('works by the key that it was changed with: once that is revoked it ends', async () => {
    withModel(() => ({ text: 'done' }))
    const issue = (more = {}) =>
      callJson('/api/operator/keys', { json: { principal: 'ines', ...more } })
    const headersOf = ({ key }: Answer) => ({ headers: { authorization: `Bearer ${key}` } })
    const [first, second] = [await issue({ role: 'user' }), await issue()]
    const json = { task: 'Go.', when: { everyMinutes: 30 } }
    const { id } = await callJson('/api/schedules', { json, ...headersOf(first) })
    expect((await changed(id, { name: 'Mine' }, headersOf(second))).status).toBe(200)
    await callJson(`/api/operator/keys/${second.id}/revoke`, { json: {} })
    await callJson(`/api/schedules/${id}/run`, { json: {}, ...headersOf(first) })
    await ringAt(startMs + minuteMs, principals.getByName(sha256('9:principal4:ines')))
    expect(await historyOf(id)).toMatchObject([
      { state: 'failed', reason: expect.stringContaining('may not') },
    ])
    await call(`/api/schedules/${id}`, { method: 'DELETE' })
  })
})

describe('an operator', () => {
  it('lists, pauses, fires and removes schedules of all principals, and puts no words into another’s mouth', async () => {
    withModel(() => ({ text: 'done' }))
    const issued = await callJson('/api/operator/keys', {
      json: { principal: 'mona', role: 'user' },
    })
    const headers = { authorization: `Bearer ${issued.key}` }
    const json = { task: 'Go.', when: { everyMinutes: 30 } }
    const { id } = await callJson('/api/schedules', { json, headers })
    const mona = principals.getByName(sha256('9:principal4:mona'))
    await ringAt(startMs + 1_000, mona)
    const { schedules } = await callJson('/api/schedules?principal=*')
    expect(schedules.map((one: Answer) => one.id)).toContain(id)
    expect((await callJson('/api/schedules?principal=mona')).schedules).toHaveLength(1)

    expect(await messageOf(await changed(id, { task: 'Stop.' }))).toEqual([
      400,
      expect.stringContaining("another principal's"),
    ])
    await callJson(`/api/schedules/${id}/run`, { json: {} })
    await vi.waitFor(async () => {
      await ringAt(Date.now() + 2_000, mona)
      expect(await historyOf(id)).toMatchObject([{ state: 'done', isManual: true }])
    })
    const paused = await callJson(`/api/schedules/${id}/pause`, { json: { reason: 'too dear' } })
    expect(paused).toMatchObject({
      state: 'paused',
      paused: { by: 'operator', reason: 'too dear' },
    })
    expect(await callJson(`/api/schedules/${id}`, { headers })).toMatchObject({ state: 'paused' })
    const auditor = await callJson('/api/operator/keys', {
      json: { principal: 'au', role: 'auditor' },
    })
    const asAuditor = { headers: { authorization: `Bearer ${auditor.key}` } }
    expect((await call(`/api/schedules/${id}`, asAuditor)).status).toBe(200)
    expect((await changed(id, { name: 'x' }, asAuditor)).status).toBe(403)
    expect((await call(`/api/schedules/${id}/run`, { json: {}, ...asAuditor })).status).toBe(403)
    expect(await callJson(`/api/schedules/${id}`, { method: 'DELETE' })).toEqual({
      id,
      deleted: true,
    })
    expect((await call(`/api/schedules/${id}`, { headers })).status).toBe(404)
  })
})

describe("a plugin's schedule for oneself", () => {
  const priceOf = (price: string) =>
    new Response(
      `<script type="application/ld+json">{"price":"${price}","priceCurrency":"EUR"}</script>`,
      { headers: { 'content-type': 'text/html' } },
    )

  it('Y3: Y10: Y16: the price monitor for one person, up to the recipient of a webhook; its agent is there all the same', async () => {
    let price = '40.00'
    const posts: Answer[] = []
    upstream = installUpstream(
      () => ({ text: 'no model is asked' }),
      async (request) => {
        if (new URL(request.url).host === 'shop.example.com') return priceOf(price)
        posts.push(await request.json())
        return new Response(null, { status: 204 })
      },
    )
    await callJson('/api/operator/http', {
      json: { allow: ['shop.example.com', 'hooks.example.com'] },
    })
    const { hash } = await callJson('/api/operator/plugins/price-monitor')
    await callJson('/api/operator/plugins/price-monitor/enable', { json: { hash } })
    const deliver = { to: 'webhook', url: 'https://hooks.example.com/prices' }
    const mine = await make({ plugin: 'price-monitor', name: 'Prices', deliver })
    expect(mine).toMatchObject({
      owner: 'principal:operator',
      when: { cron: '0 */4 * * *', timeZone: 'UTC' },
      work: { tool: 'price-monitor__execute' },
      deliver,
    })
    const watched = { url: 'https://shop.example.com/kettle', name: 'Kettle', threshold_percent: 5 }
    const at = [new Date(startMs + minuteMs).toISOString()]
    const { id } = await make({ tool: 'price-monitor__watch', input: watched, when: { at } })
    expect(await settle(id, startMs + minuteMs)).toMatchObject([{ state: 'done' }])
    // What one said stays unsaid where nothing changed.
    expect(await settle(mine.id, mine.next[0])).toMatchObject([{ state: 'done', tokens: 0 }])
    expect(posts).toEqual([])
    price = '34.00'
    const [slot] = await settle(mine.id, mine.next[1])
    expect(slot).toMatchObject({ state: 'done', tokens: 0, delivery: { state: 'delivered' } })
    const text = 'Kettle: 40.00 EUR → 34.00 EUR (-15.0 %) https://shop.example.com/kettle'
    expect(posts).toMatchObject([{ schedule: mine.id, name: 'Prices', text, slotMs: mine.next[1] }])
    const soon = { at: [new Date(Date.now() + minuteMs).toISOString()] }
    const work = { tool: 'price-monitor__run', input: { task: 'What do they cost?' } }
    const agent = await make({ ...work, when: soon })
    const [called] = await settle(agent.id, agent.next[0])
    expect(called.text).toContain('34.00 EUR')
    expect(upstream.requests).toHaveLength(0)
    await callJson('/api/operator/plugins/price-monitor/disable', { json: {} })
  })

  it("Y3: is neither changed nor removed by hand where it is the manifest's", async () => {
    const { hash } = await callJson('/api/operator/plugins/price-monitor')
    await callJson('/api/operator/plugins/price-monitor/enable', { json: { hash } })
    const own = await vi.waitFor(async () => {
      const { schedules } = await callJson('/api/schedules?principal=*')
      return schedules.find(({ owner }: Answer) => owner === 'plugin:price-monitor')!.id as string
    })
    const refused = [
      400,
      'id: is what plugin:price-monitor schedules in its own text: change that one (isola plugin add, or isola plugin disable price-monitor), or pause this.',
    ]
    expect(await messageOf(await changed(own, { name: 'Mine' }))).toEqual(refused)
    expect(await messageOf(await call(`/api/schedules/${own}`, { method: 'DELETE' }))).toEqual(
      refused,
    )
    expect((await callJson(`/api/schedules/${own}/pause`, { json: {} })).state).toBe('paused')
    expect((await callJson(`/api/schedules/${own}/resume`, { json: {} })).state).toBe('active')
    await callJson('/api/operator/plugins/price-monitor/disable', { json: {} })
  })
})
