import {
  abortAllDurableObjects,
  createExecutionContext,
  createScheduledController,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import worker from '../../src/index.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 10, 24, 6, 0, 30)

/** The binding without its methods, whose types are too deep for the compiler. */
const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
const ownObject = () => principals.getByName(sha256('9:principal8:operator'))

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const setTime = (atMs: number) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(atMs)
}

/** Moves the clock and has the object's alarm ring, as often as it has something to do by then. */
async function ringAt(atMs: number, object = ownObject()): Promise<void> {
  setTime(atMs)
  for (let ring = 0; ring < 8; ring += 1) await runDurableObjectAlarm(object)
}
/** Rings until no slot is under way. */
async function settle(id: string, fromMs: number): Promise<Answer> {
  let history: Answer
  for (let step = 0; step < 60; step += 1) {
    await ringAt(fromMs + step * 2_000)
    history = await historyOf(id)
    const isOpen = ({ state, delivery }: Answer) =>
      ['queued', 'checking', 'running'].includes(state) || delivery?.state === 'waiting'
    if (history.length > 0 && !history.some(isOpen)) return history
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`it is still under way: ${JSON.stringify(history)}`)
}
async function tick(cron = '* * * * *'): Promise<void> {
  const context = createExecutionContext()
  const controller = createScheduledController({ cron, scheduledTime: new Date() })
  await worker.scheduled(controller)
  await waitOnExecutionContext(context)
}
const historyOf = async (id: string): Promise<Answer> =>
  (await callJson(`/api/schedules/${id}/history`)).slots
const make = (body: object) => callJson('/api/schedules', { json: body })

describe('a schedule of a person', () => {
  it('Y10: works in a session of its own at its time, and tells its principal what came of it', async () => {
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

  it('fires a slot once, whoever rings: alarms twice, the watchdog twice, an object that was aborted', async () => {
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

  it('is found by the watchdog when its alarm is lost', async () => {
    withModel(() => ({ text: 'done' }))
    setTime(startMs)
    const { id, next } = await make({ task: 'Go.', when: { everyMinutes: 30 } })
    await ringAt(startMs) // its list is told
    await runInDurableObject(ownObject(), (_instance, { storage }) => storage.deleteAlarm())
    setTime(next[0] + 5 * minuteMs)
    await tick()
    expect(await historyOf(id)).toHaveLength(1)
    const slots = await settle(id, next[0] + 5 * minuteMs)
    expect(slots).toMatchObject([{ slotMs: next[0], state: 'done' }])
  })
})
