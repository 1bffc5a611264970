import { afterEach, expect, it, vi } from 'vitest'
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { lengthPrefixed } from '#contracts/objects.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { call, callJson } from '../fakes/client.ts'
import { installUpstream } from '../fakes/upstream.ts'
import { isNightly } from '../setup/nightly.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

interface LifecycleOf {
  readonly jobs: {
    readonly push: (job: { id: string; fn: string; time: number }) => Promise<unknown>
  }
}

const stubOf = (session: string) =>
  env.SESSION.getByName(systemSources.sha256(lengthPrefixed(['session', session])))
/** Wakes an object as the platform would, as often as it has something to do by then. */
async function pass(session: string, ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + 60_000)
  await runDurableObjectAlarm(stubOf(session)) // the recovery job finds nothing left to do
  vi.setSystemTime(Date.now() + ms)
  await runDurableObjectAlarm(stubOf(session))
}
const chat = async (headers: Record<string, string> = {}): Promise<string> => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const response = await call('/v1/chat/completions', {
    json: { model: 'orchestrator', messages },
    headers,
  })
  await response.text()
  return response.headers.get('x-isola-session')!
}
const statusOf = async (session: string) => (await call(`/api/sessions/${session}`)).status
const tablesOf = (session: string) =>
  runInDurableObject(stubOf(session), (_instance, { storage }) =>
    storage.sql.exec(`SELECT name FROM sqlite_master WHERE type = 'table'`).toArray(),
  )
const nothingLeft = (session: string) =>
  vi.waitFor(async () => expect(await tablesOf(session)).toEqual([]), { timeout: 60_000 })

it('docs/design.md section 11: a chat call without a session name deletes itself an hour after its last run', async () => {
  upstream = installUpstream(() => ({ text: 'Hi' }))
  const session = await chat()
  await pass(session, hourMs / 2)
  expect(await statusOf(session)).toBe(200)
  await pass(session, hourMs)
  expect(await statusOf(session)).toBe(404)
  await nothingLeft(session)
})

it('docs/design.md section 11: a named session stays for ninety days after its last run', async () => {
  upstream = installUpstream(() => ({ text: 'Hi' }))
  const named = await chat({ 'x-isola-session': 'mine' })
  const { id: made } = await callJson('/api/sessions', { json: {} })
  const later = await chat()
  expect(await chat({ 'x-isola-session': later })).toBe(later) // from now on it has a name
  for (const session of [named, made, later]) {
    await pass(session, 80 * dayMs)
    expect(await statusOf(session)).toBe(200)
    await pass(session, 91 * dayMs)
    expect(await statusOf(session)).toBe(404)
    vi.useRealTimers()
  }
})

const batches = isNightly ? 5 : 1

it('docs/design.md section 11: many stateless calls leave nothing behind', async () => {
  upstream = installUpstream(() => ({ text: 'Hi' }))
  const sessions: string[] = []
  for (let batch = 0; batch < batches; batch += 1) {
    sessions.push(...(await Promise.all(Array.from({ length: 20 }, () => chat()))))
  }
  expect(new Set(sessions).size).toBe(20 * batches)
  for (const session of sessions) await pass(session, hourMs)
  for (const session of sessions) await nothingLeft(session)
  const listed = `SELECT count(*) AS count FROM sessions WHERE id IN (SELECT value FROM json_each(?))`
  const ids = JSON.stringify(sessions)
  expect(await env.DB.prepare(listed).bind(ids).first('count')).toBe(0)
})

it('docs/design.md section 11: nothing is left of the database of a deleted session, and its name begins another', async () => {
  upstream = installUpstream(() => ({ text: 'Hello' }))
  const headers = { 'x-isola-session': 'comes back' }
  const json = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
  const say = () => call('/v1/chat/completions', { json, headers })
  const session = (await say()).headers.get('x-isola-session')!
  expect(await tablesOf(session)).not.toEqual([])
  await callJson(`/api/sessions/${session}`, { method: 'DELETE' })
  await nothingLeft(session)
  const again = await say()
  expect([again.status, again.headers.get('x-isola-session')]).toEqual([200, session])
  expect(await callJson(`/api/sessions/${session}/transcript`)).toMatchObject({
    messages: [{ role: 'user' }, { role: 'assistant' }],
  })
})

it('docs/design.md section 11: nothing is left of it either if its object ends before that', async () => {
  upstream = installUpstream(() => ({ text: 'Hello' }))
  const interrupt = async (name: string) => {
    const session = await chat({ 'x-isola-session': name })
    await callJson(`/api/sessions/${session}`, { method: 'DELETE' })
    await runInDurableObject(stubOf(session), (_instance, state) => state.abort('injected')).catch(
      () => {},
    )
    return session
  }
  let session = await interrupt('interrupted')
  // It goes within a second: on a machine with much else to do that may be before it can be ended.
  for (let tries = 2; tries < 10 && (await tablesOf(session)).length === 0; tries += 1)
    session = await interrupt(`interrupted, ${tries}`)
  expect(await tablesOf(session)).not.toEqual([])
  vi.setSystemTime(Date.now() + 61_000)
  await runDurableObjectAlarm(stubOf(session))
  await nothingLeft(session)
})

it('I12: nothing is left of it either if its rows could not be removed three times in a row', async () => {
  upstream = installUpstream(() => ({ text: 'Hello' }))
  const session = await chat({ 'x-isola-session': 'cannot be removed' })
  await runInDurableObject(stubOf(session), (_instance, state) => {
    const body = JSON.stringify({ id: session, principal: 'operator', isDeleted: true })
    state.storage.sql.exec('UPDATE log SET body = ? WHERE run = 0', body)
  })
  await abortAllDurableObjects()
  let failures = 0
  await runInDurableObject(stubOf(session), async (instance, { storage }) => {
    const exec = storage.sql.exec.bind(storage.sql)
    const failing = (query: string, ...values: SqlStorageValue[]) => {
      if (query.includes('DELETE FROM log') && (failures += 1) <= 3) throw new Error('SQLITE_FULL')
      return exec(query, ...values)
    }
    Object.defineProperty(storage.sql, 'exec', { value: failing })
    const { lifecycle } = instance as unknown as { readonly lifecycle: LifecycleOf }
    // Not due yet: it would ring by itself, now or a little later.
    await lifecycle.jobs.push({ id: 'vanish', fn: 'vanish', time: Date.now() + 60_000 })
  })
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    expect(await tablesOf(session)).not.toEqual([])
    vi.setSystemTime(Date.now() + 61_000)
    expect(await runDurableObjectAlarm(stubOf(session))).toBe(true)
  }
  expect(failures).toBe(4)
  await nothingLeft(session)
})
