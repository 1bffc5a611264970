import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

const keysPath = '/api/operator/keys'
let upstream: ReturnType<typeof installUpstream>
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream.restore()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

let count = 0
const addKey = (more: object = {}): Promise<Answer> =>
  callJson(keysPath, { json: { principal: `revoked-${(count += 1)}`, role: 'user', ...more } })
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const asJson = (key: string, path: string, json?: object): Promise<Answer> =>
  callJson(path, { headers: bearer(key), ...(json && { json }) })
const end = (id: string, how = 'revoke', json: object = {}): Promise<Answer> =>
  callJson(`${keysPath}/${id}/${how}`, { json })
const newSession = async (key: string): Promise<string> =>
  (await asJson(key, '/api/sessions', {})).id
const start = async (key: string, session: string): Promise<string> =>
  (await asJson(key, `/api/sessions/${session}/runs`, { task: 'go' })).run
/** As the operator sees it, whatever became of the key. */
const runOf = (session: string, run: string): Promise<Answer> =>
  callJson(`/api/sessions/${session}/runs/${run}`)
const stateOf = async (session: string, run: string): Promise<string> =>
  (await runOf(session, run)).state
const recordsOf = async (session: string): Promise<Answer[]> =>
  (await callJson(`/api/operator/audit?session=${session}&limit=500`)).records
const finishedIn = async (session: string): Promise<Answer[]> =>
  (await recordsOf(session)).filter(({ type }) => type === 'run_finished')

const namespace = env.PRINCIPAL as unknown as DurableObjectNamespace
const objectOf = (principal: string) =>
  namespace.getByName(sha256(`9:principal${principal.length}:${principal}`))
const heldBy = (principal: string) =>
  runInDurableObject(objectOf(principal), (_instance, { storage }) =>
    storage.sql
      .exec(`SELECT name FROM sqlite_master WHERE name = 'holders'`)
      .toArray()
      .flatMap(() => storage.sql.exec('SELECT session FROM holders').toArray()),
  )
/** Moves the clock on and wakes the object, again and again: whom it cannot reach within five seconds it tells later. */
async function wakeUntil(principal: string, isSo: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'] })
  await vi.waitFor(async () => {
    vi.setSystemTime(Date.now() + 60_000)
    await runDurableObjectAlarm(objectOf(principal))
    await isSo()
  }, patience)
}
const patience = { timeout: 60_000, interval: 25 }
/** A model that does not answer before its request is given up. */
const never = new Promise<never>(() => {})
const isChild = (content: unknown) => String(content).startsWith('look')

describe('a key that is revoked', () => {
  it('I26, G12: ends the long run and the 50 background children that were begun with it', async () => {
    const calls = Array.from({ length: 50 }, (_, index) => ({
      name: 'code-reviewer__run',
      input: { task: `look ${index}`, background: true },
    }))
    withModel((_request, index) => (index === 0 ? { calls } : { wait: never }))
    const { key, id, principal } = await addKey()
    // The run has leased all it may spend to its children, and waits for a raised limit.
    const parent = { session: await newSession(key), run: '' }
    parent.run = await start(key, parent.session)
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(51), patience)
    const long = { session: await newSession(key), run: '' }
    long.run = await start(key, long.session)
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(52), patience)
    const beganMs = performance.now()
    await end(id)
    await vi.waitFor(() => expect(upstream.aborted()).toBe(51), patience)
    console.info(`51 model calls had ended after ${Math.round(performance.now() - beganMs)} ms`)
    const message = `revoked: the key ${id}, with which it was asked for, was taken back.`
    for (const { session, run } of [parent, long]) {
      await vi.waitFor(async () => expect(await stateOf(session, run)).toBe('cancelled'), patience)
      expect((await runOf(session, run)).result.error).toEqual({ code: 'cancelled', message })
    }
    const { children } = await callJson(`/api/sessions/${parent.session}`)
    expect(children).toHaveLength(50)
    const sessions = [parent.session, long.session, ...children.map((one: Answer) => one.id)]
    await vi.waitFor(async () => {
      const told = await Promise.all(sessions.map(finishedIn))
      for (const [finished] of told) expect(finished?.data.state).toBe('cancelled')
      expect(told[1]?.[0]?.data.message).toBe(message)
    }, patience)
    await vi.waitFor(async () => expect(await heldBy(principal)).toEqual([]), patience)
  })

  it('G12: ends background children whose run is over', async () => {
    withModel(({ messages }, index) => {
      if (isChild(messages.at(-1)?.content)) return { wait: never }
      const input = { task: 'look', background: true, onOutcome: 'run' }
      return index === 0 ? { calls: [{ name: 'code-reviewer__run', input }] } : { text: 'begun' }
    })
    const { key, id } = await addKey()
    const session = await newSession(key)
    const run = await start(key, session)
    await vi.waitFor(async () => expect(await stateOf(session, run)).toBe('completed'), patience)
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(3), patience)
    await end(id)
    await vi.waitFor(() => expect(upstream.aborted()).toBe(1), patience)
    const { children, runs } = await callJson(`/api/sessions/${session}`)
    expect(runs).toHaveLength(1)
    await vi.waitFor(async () => {
      const [finished] = await finishedIn(children[0].id)
      expect(finished?.data).toMatchObject({ state: 'cancelled', message: /^revoked: / })
    }, patience)
  })

  it('G12: lets nothing through that begins while it is revoked', async () => {
    withModel(() => ({ wait: never }))
    const { key, id } = await addKey()
    const sessions = await Promise.all(Array.from({ length: 12 }, () => newSession(key)))
    const starting = sessions.map(async (session, index) => {
      if (index % 3 > 0) await new Promise((resolve) => setTimeout(resolve, index))
      const headers = bearer(key)
      const response = await call(`/api/sessions/${session}/runs`, {
        headers,
        json: { task: 'go' },
      })
      return response.ok ? { session, run: ((await response.json()) as Answer).run } : undefined
    })
    await end(id)
    const begun = (await Promise.all(starting)).filter((one) => one !== undefined)
    await vi.waitFor(async () => {
      for (const { session, run } of begun) expect(await stateOf(session, run)).toBe('cancelled')
    }, patience)
  })

  it('ends a run that waits for a person, and leaves a run that was begun with another key', async () => {
    const gate = Promise.withResolvers<void>()
    withModel(() => ({ text: 'done', wait: gate.promise }))
    const mine = await addKey()
    const other = await callJson(keysPath, { json: { principal: mine.principal } })
    const [first, second] = [await newSession(mine.key), await newSession(mine.key)]
    const [ended, queued] = [await start(mine.key, first), await start(mine.key, first)]
    const going = await start(other.key, second)
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(2), patience)
    await end(mine.id)
    await vi.waitFor(async () => {
      expect(await stateOf(first, ended)).toBe('cancelled')
      expect(await stateOf(first, queued)).toBe('cancelled')
    }, patience)
    gate.resolve()
    await vi.waitFor(async () => expect(await stateOf(second, going)).toBe('completed'), patience)
  })

  it('ends what was begun with a key that it took the place of, and not before', async () => {
    const gate = Promise.withResolvers<void>()
    withModel(() => ({ text: 'done', wait: gate.promise }))
    const first = await addKey()
    const session = await newSession(first.key)
    const run = await start(first.key, session)
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(1), patience)
    const second = await end(first.id, 'rotate')
    const third = await end(second.id, 'rotate')
    await end(third.id)
    await vi.waitFor(async () => expect(await stateOf(session, run)).toBe('cancelled'), patience)
    expect((await runOf(session, run)).result.error.message).toContain(first.id)

    // Without a revocation a run outlives its rotated key.
    const { key, id } = await addKey()
    const calm = await newSession(key)
    const goesOn = await start(key, calm)
    await end(id, 'rotate')
    gate.resolve()
    await vi.waitFor(async () => expect(await stateOf(calm, goesOn)).toBe('completed'), patience)
  })

  it('G12: is told again to a session that could not be reached', async () => {
    withModel(() => ({ wait: never }))
    const { key, id, principal } = await addKey()
    const session = await newSession(key)
    const run = await start(key, session)
    await vi.waitFor(async () => expect(await heldBy(principal)).toHaveLength(1), patience)
    // No session was told: the object of the principal was gone as soon as the key was revoked.
    await env.DB.prepare('UPDATE keys SET revoked_at_ms = 1 WHERE id = ?').bind(id).run()
    await abortAllDurableObjects()
    expect(await stateOf(session, run)).not.toBe('cancelled')
    await wakeUntil(principal, async () => expect(await stateOf(session, run)).toBe('cancelled'))
  })
})

describe('a key past its end date', () => {
  it('G12: ends the runs that were begun with it', async () => {
    withModel(() => ({ wait: never }))
    const { key, id, principal } = await addKey({ expiresInMs: 60_000 })
    const session = await newSession(key)
    const run = await start(key, session)
    await vi.waitFor(async () => expect(await heldBy(principal)).toHaveLength(1), patience)
    await wakeUntil(principal, async () => expect(await stateOf(session, run)).toBe('cancelled'))
    const message = `expired: the key ${id}, with which it was asked for, has come to its end.`
    expect((await runOf(session, run)).result.error.message).toBe(message)
  })
})

describe("a principal's object", () => {
  it('keeps nothing of runs that are over', async () => {
    withModel(() => ({ text: 'done' }))
    const { key, principal } = await addKey()
    const session = await newSession(key)
    for (const task of ['one', 'two'])
      await asJson(key, `/api/sessions/${session}/runs`, { task, wait: true })
    await vi.waitFor(async () => expect(await heldBy(principal)).toEqual([]), patience)
  })
})
