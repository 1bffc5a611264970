import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import {
  minuteMs,
  ownObject,
  principals,
  ringAt,
  setTime,
  settle,
  startMs,
} from '../fakes/schedule-world.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream>
beforeEach(() => {
  setTime(startMs)
  upstream = installUpstream((request) => ({ text: `${whoIs(request)} is done` }))
})
afterEach(async () => {
  for (const { id } of (await callJson('/api/agents')).agents)
    await call(`/api/agents/${id}`, { method: 'DELETE' })
  upstream.restore()
  vi.useRealTimers()
})
const whoIs = ({ messages }: UpstreamRequest) =>
  /You are ([a-z-]+)\./.exec(String(messages[0]?.content))?.[1] ?? ''

type By = { readonly headers?: Record<string, string> }
const definition = (
  id: string,
  { agent = {}, ...more }: { readonly agent?: object } & object = {},
) => ({
  id,
  name: id,
  description: `Does what ${id} does.`,
  agent: { instructions: `You are ${id}.`, ...agent },
  ...more,
})
const add = (id: string, more: object = {}, by: By = {}): Promise<Answer> =>
  callJson('/api/agents', { ...by, json: definition(id, more) })
const change = (id: string, what: string, json: object = {}, by: By = {}): Promise<Answer> =>
  callJson(`/api/agents/${id}/${what}`, { ...by, json })
const approve = (id: string, { applied: { version, hash } }: Answer) =>
  change(id, 'approve', { version, hash })
const listOf = async (kind: 'schedules' | 'subscriptions', by: By = {}): Promise<Answer[]> =>
  (await callJson(`/api/${kind}`, by))[kind]
const schedule = { when: { everyMinutes: 30 }, task: 'Look.' }
const patience = { timeout: 30_000, interval: 100 }

async function author(): Promise<By & { readonly object: DurableObjectStub }> {
  const json = { principal: 'carla', role: 'author' }
  const { key } = await callJson('/api/operator/keys', { json })
  const object = principals.getByName(sha256('9:principal5:carla'))
  return { headers: { authorization: `Bearer ${key}` }, object }
}

describe('M9: the schedule in the text of an agent', () => {
  it('fires that agent, and is another with another text, an earlier one, and none', async () => {
    await add('is-due', { schedule })
    const [{ id, next, owner }] = await listOf('schedules')
    expect(owner).toBe('agent:is-due')
    expect(await settle(id, next[0])).toMatchObject([{ state: 'done', text: 'is-due is done' }])
    await add('is-due', {
      schedule: { ...schedule, when: { everyMinutes: 5 }, task: 'Look well.' },
    })
    const spec = async () => {
      const [one] = await listOf('schedules')
      return one && [one.id, one.when.everyMs, one.work.task]
    }
    expect(await spec()).toEqual([id, 5 * minuteMs, 'Look well.'])
    await change('is-due', 'rollback', { version: 1 })
    expect(await spec()).toEqual([id, 30 * minuteMs, 'Look.'])
    await add('is-due')
    expect(await spec()).toBeUndefined()
  })

  it('rests while its agent is archived, and is gone with it', async () => {
    await add('rests', { schedule })
    await change('rests', 'archive')
    const [resting] = await listOf('schedules')
    expect([resting.paused?.reason, resting.next]).toEqual(['its agent does not run', []])
    await ringAt(startMs + 90 * 60_000)
    expect(upstream.requests).toEqual([])
    await change('rests', 'restore')
    const [back] = await listOf('schedules')
    expect([back.paused, back.next.length > 0]).toEqual([undefined, true])
    await call('/api/agents/rests', { method: 'DELETE' })
    expect(await listOf('schedules')).toEqual([])
  })

  it('begins when an operator approves its text, in its owner’s name, by the key it was written by', async () => {
    const by = await author()
    const shared = { acl: { roles: { user: ['run'] } } }
    const made = await add('is-approved', { schedule, ...shared }, by)
    expect(made.applied.definition).toHaveProperty('schedule')
    expect(made.applied).not.toHaveProperty('asker')
    expect(await listOf('schedules', by)).toEqual([])
    await approve('is-approved', made)
    const [{ id, principal, next }] = await listOf('schedules', by)
    expect(principal).toBe('carla')
    expect(await listOf('schedules')).toEqual([])
    for (let look = 0; upstream.requests.length === 0 && look < 20; look += 1) {
      await ringAt(next[0] + look * 2_000, by.object)
      await new Promise((tick) => setTimeout(tick, 50))
    }
    const { slots } = await callJson(`/api/schedules/${id}/history`, by)
    expect(slots).toMatchObject([{ session: expect.stringContaining('ses_') }])
  })

  it('is a heartbeat only with a check', async () => {
    const beat = { ...schedule, when: { everyMinutes: 30, hours: '8-22' }, heartbeat: true }
    await expect(add('beats', { schedule: beat })).rejects.toThrow(/schedule\.check.*heartbeat/)
    const check = { tool: 'memory__recall', input: { query: 'todo' }, has: 'notes' }
    await add('beats', { schedule: { ...beat, check } })
    expect(await listOf('schedules')).toMatchObject([{ heartbeat: true }])
  })
})

describe('Y28: what the text of an agent subscribes to', () => {
  beforeEach(() => void vi.useRealTimers())
  const subscribes = [
    { event: 'isola.run_finished', where: { state: 'completed' }, task: 'Say it.', runs_a_day: 3 },
  ]
  const settled = async (id: string) =>
    vi.waitFor(async () => {
      await runDurableObjectAlarm(ownObject())
      const { firings } = await callJson(`/api/subscriptions/${id}/history`)
      const done = firings.find(({ state }: Answer) => state === 'done')
      expect(done).toBeDefined()
      return done
    }, patience)

  /** The list of all follows by a moment. */
  const told = (holds: () => Promise<void>) =>
    vi.waitFor(async () => {
      await runDurableObjectAlarm(ownObject())
      await holds()
    }, patience)

  it('begins a run of that agent, in its owner’s name', async () => {
    await add('hears', { agent: { subscribes } })
    const [{ id, owner, event }] = await listOf('subscriptions')
    expect([owner, event]).toEqual(['agent:hears', 'isola.run_finished'])
    await add('is-heard')
    const { id: session } = await callJson('/api/sessions', { json: { agent: 'is-heard' } })
    await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go', wait: true } })
    expect(await settled(id)).toMatchObject({ text: 'hears is done', event: { session } })
  })

  it('rests while its agent is archived, is another with another text, and is gone with it', async () => {
    await add('hears-too', { agent: { subscribes } })
    const paused = async () => (await listOf('subscriptions')).map((one) => one.paused?.reason)
    await change('hears-too', 'archive')
    await told(async () => expect(await paused()).toEqual(['its agent does not run']))
    await change('hears-too', 'restore')
    await told(async () => expect(await paused()).toEqual([undefined]))
    await add('hears-too', { agent: { subscribes: [{ ...subscribes[0], task: 'Say it well.' }] } })
    const tasks = async () => (await listOf('subscriptions')).map(({ task }) => task)
    await told(async () => expect(await tasks()).toEqual(['Say it well.']))
    await call('/api/agents/hears-too', { method: 'DELETE' })
    await told(async () => expect(await tasks()).toEqual([]))
  })
})
