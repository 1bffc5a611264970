import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { call, callJson, type Answer } from './client.ts'
import { sha256 } from './kernel.ts'

export const minuteMs = 60_000
export const startMs = Date.UTC(2026, 10, 24, 6, 0, 30)

/** The binding without its methods, whose types are too deep for the compiler. */
export const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
export const ownObject = () => principals.getByName(sha256('9:principal8:operator'))

/** They are all in one object: what a test leaves would ring in the next one. */
export async function removeSchedules(): Promise<void> {
  const { schedules } = await callJson('/api/schedules')
  for (const { id } of schedules) await call(`/api/schedules/${id}`, { method: 'DELETE' })
}

export const setTime = (atMs: number) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(atMs)
}

/** Moves the clock and has the object's alarm ring, as often as it has something to do by then. */
export async function ringAt(atMs: number, object = ownObject()): Promise<void> {
  setTime(atMs)
  for (let ring = 0; ring < 8; ring += 1) await runDurableObjectAlarm(object)
}

/** Rings until no slot is under way. */
export async function settle(id: string, fromMs: number): Promise<Answer> {
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

/** Not in the past of the machine, whose own alarms would ring. */
export const laterMs = startMs + 10 * 366 * 86_400_000

export const loseAlarm = () =>
  runInDurableObject(ownObject(), (_instance, { storage }) => storage.deleteAlarm())

/** Looked up without any request, which would look at lateness too. */
export const rowsOf = (id: string) =>
  runInDurableObject(ownObject(), (_instance, { storage }) =>
    storage.sql.exec('SELECT slot_ms FROM schedule_slots WHERE schedule = ?', id).toArray(),
  )

export const historyOf = async (id: string): Promise<Answer> =>
  (await callJson(`/api/schedules/${id}/history`)).slots
export const make = (body: object): Promise<Answer> => callJson('/api/schedules', { json: body })
