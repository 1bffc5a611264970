import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ObjectReply } from '#contracts/reply.ts'
import type { RunView } from '#runtime/session/types/session-view.ts'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { createHttpApp } from '../../src/surfaces/http/app.ts'
import { routeTable } from '../../src/routes.gen.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

const operator = 'operator'
const days = 86_400_000
/** Patient: other work may have the machine. */
const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 60_000, interval: 20 })
const never = new Promise<never>(() => {})
let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))

/** What goes wrong at the moment, in every object and in the database. */
const faults = {
  /** Statements of an object's SQLite that are refused. */
  statement: undefined as Pick<RegExp, 'test'> | undefined,
  refused: 0,
  database: 'ok' as 'ok' | 'down' | 'silent' | 'slow',
  until: Promise.resolve() as Promise<unknown>,
  /** How many batches a database that is down has not taken. */
  lost: 0,
}

/** The disk of every object, and D1, fail as `faults` says. Patched where both live, so that constructors meet it too. */
beforeAll(async () => {
  await runInDurableObject(stubOf('ses_any'), (_instance, { storage }) => {
    const proto = Object.getPrototypeOf(storage.sql) as SqlStorage
    // oxlint-disable-next-line typescript/unbound-method -- called below with the `this` of each call
    const { exec } = proto
    proto.exec = function failing(this: SqlStorage, query: string, ...values: unknown[]) {
      if (faults.statement?.test(query)) {
        faults.refused += 1
        throw new Error('database or disk is full: SQLITE_FULL')
      }
      return exec.call(this, query, ...values) as never
    }
  })
  const failing = (proto: Record<string, unknown>, names: readonly string[]) => {
    for (const name of names) {
      const original = proto[name] as (...args: unknown[]) => Promise<unknown>
      proto[name] = async function failingly(this: unknown, ...args: unknown[]) {
        if (faults.database === 'slow') await faults.until
        if (faults.database === 'down') {
          faults.lost += name === 'batch' ? 1 : 0
          throw new Error('D1_ERROR: Network connection lost.')
        }
        const answer = await original.apply(this, args)
        // The statement was executed, but the answer is lost.
        if (faults.database === 'silent') throw new Error('D1_ERROR: Network connection lost.')
        return answer
      }
    }
  }
  failing(Object.getPrototypeOf(env.DB), ['batch'])
  failing(Object.getPrototypeOf(env.DB.prepare('SELECT 1')), ['all', 'first', 'run'])
})

/** Of a session: the operator's object, where it is told, has a disk of its own. */
const anyWrite = /^\s*(INSERT|UPDATE|DELETE|CREATE|DROP)(?![^]*incidents)/i
afterEach(() => {
  faults.statement = undefined
  faults.database = 'ok'
  upstream?.restore()
  vi.useRealTimers()
})

const isAnswered = (request: UpstreamRequest) => request.messages.at(-1)!.role === 'tool'
const isReviewer = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('review') &&
  !String(messages[0]?.content).includes('Available tools')
const setFact = { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] }
const callReviewer = { calls: [{ name: 'code-reviewer__run', input: { task: 'look' } }] }

const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const pathOf = (session: string) => `/api/sessions/${session}/runs`
const send = (session: string, task: string, key?: string, more: object = { wait: true }) =>
  call(pathOf(session), {
    json: { task, ...more },
    ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
  })
const valueOf = <T>(reply: ObjectReply<T>): T => {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`)
  return reply.value
}
const codeOf = (reply: ObjectReply<unknown>) => (reply.ok ? 'ok' : reply.error.code)
const submissionOf = (text: string, more: Partial<SubmitRequest> = {}): SubmitRequest => ({
  agent: 'orchestrator',
  principal: operator,
  messages: [{ role: 'user', text, taint: ['user'] }],
  trace: 'a'.repeat(32),
  pauses: 'park',
  ...more,
})
const submit = async (session: string, more: Partial<SubmitRequest> = {}) =>
  valueOf(await sessions.at(session).submit(session, submissionOf('go', more))).run
const resultOf = ({ result }: { result?: { result?: string } }) => result?.result
const reached = (session: string, run: string, state: RunView['state']): Promise<RunView> =>
  eventually(async () => {
    const view = valueOf(await sessions.at(session).result(operator, run))
    expect(view.state).toBe(state)
    return view
  })
const treeOf = (session: string) => callJson(`/api/sessions/${session}`)
const eventsOf = async (session: string) =>
  readSse(await call(`/api/sessions/${session}/events?follow=false`))
const typesOf = async (session: string) => (await eventsOf(session)).map(({ event }) => event)
const countOf = (list: readonly unknown[], one: unknown) =>
  list.filter((item) => item === one).length
/** Wakes an object some time later, as the platform would. */
async function alarm(session: string, laterMs = 20_000): Promise<boolean> {
  vi.setSystemTime(Date.now() + laterMs)
  return runDurableObjectAlarm(stubOf(session))
}
const abort = (session: string) =>
  runInDurableObject(stubOf(session), (_instance, state) => state.abort('injected')).catch(() => {})
const incidentsOf = async (session: string): Promise<Answer[]> =>
  (await callJson('/api/operator/health')).incidents.newest.filter(
    (incident: Answer) => incident.session === session,
  )
const incident = (session: string, kind: string) =>
  eventually(async () => {
    const found = (await incidentsOf(session)).filter((one) => one.kind === kind)
    expect(found).toHaveLength(1)
    return found[0]
  })
const noIncident = (session: string) =>
  eventually(async () => expect(await incidentsOf(session)).toEqual([]))
const jobsOf = (session: string) =>
  runInDurableObject(stubOf(session), (_instance, { storage }) =>
    storage.sql
      .exec('SELECT * FROM cf_agents_jobs')
      .toArray()
      .map((job) => String(job['fn'] ?? job['id'])),
  )
const tablesOf = (session: string) =>
  runInDurableObject(stubOf(session), (_instance, { storage }) =>
    storage.sql
      .exec(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
      .toArray()
      .map(({ name }) => String(name))
      .filter((name) => !name.startsWith('_cf')),
  )

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(((await response.json()) as Answer).error.code).toBe('unavailable')
}

describe('an object that is lost', () => {
  it('F1: aborted in the middle of a turn: the waiting client is told the run and to ask again, and it goes on', async () => {
    const { requests } = withModel((request, index) => {
      if (index === 1) return { wait: never }
      return isAnswered(request) ? { text: 'done' } : setFact
    })
    const session = await newSession()
    const waiting = send(session, 'go', 'k')
    await eventually(() => expect(requests).toHaveLength(2))
    await abort(session)
    const refused = await waiting
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('2')
    const { message } = ((await refused.json()) as Answer).error
    const run = /run_\w{22}/.exec(message)![0]
    const { result } = await reached(session, run, 'completed')
    expect(await (await send(session, 'go', 'k')).json()).toMatchObject({
      id: run,
      result: { result: 'done' },
    })
    expect(result?.actions).toMatchObject([{ tool: 'kv__set', ok: true }])
    expect(countOf(await typesOf(session), 'tool_finished')).toBe(1)
  })

  it('F2: with all the others, in the middle of everything: every acknowledged run ends once', async () => {
    const gate = Promise.withResolvers<void>()
    let isCut = true
    withModel(() => ({ text: 'done', ...(isCut && { wait: gate.promise }) }))
    const accepted = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const session = await newSession()
        return { session, runs: [await submit(session), await submit(session)] }
      }),
    )
    isCut = false
    await abortAllDurableObjects()
    for (const { session, runs } of accepted) {
      for (const run of runs) await reached(session, run, 'completed')
      expect(countOf(await typesOf(session), 'run_finished')).toBe(2)
    }
  })

  it('F3: evicted while it is idle or waits for a person: nothing is different afterwards', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    const session = await newSession()
    await send(session, 'one')
    const run = await submit(session, { requireApproval: ['kv__*'] })
    await reached(session, run, 'parked')
    const before = [await treeOf(session), await eventsOf(session)]
    await evictDurableObject(stubOf(session))
    expect([await treeOf(session), await eventsOf(session)]).toEqual(before)
  })

  it('F20: the parent alone, while its child works: it finds the same child again', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel((request) => {
      if (isReviewer(request)) return { text: 'reviewed', wait: gate.promise }
      return isAnswered(request) ? { text: 'done' } : callReviewer
    })
    const session = await newSession()
    const run = await submit(session)
    await eventually(() => expect(requests.some(isReviewer)).toBe(true))
    await abort(session)
    await alarm(session)
    gate.resolve()
    const { result } = await reached(session, run, 'completed')
    expect(result?.actions).toMatchObject([{ tool: 'code-reviewer__run', ok: true }])
    expect(requests.filter(isReviewer)).toHaveLength(1)
    expect((await treeOf(session)).children).toHaveLength(1)
  })

  it('F21: the child alone, while it works: the parent attaches to it anew', async () => {
    let lives = 0
    const { requests } = withModel((request) => {
      if (isReviewer(request)) {
        return { text: 'reviewed', ...((lives += 1) === 1 && { wait: never }) }
      }
      return isAnswered(request) ? { text: 'done' } : callReviewer
    })
    const session = await newSession()
    const run = await submit(session)
    await eventually(() => expect(lives).toBe(1))
    const child = await eventually(async () => {
      const [found] = (await treeOf(session)).children
      expect(found).toBeDefined()
      return found
    })
    await abort(child.id)
    const { result } = await reached(session, run, 'completed')
    expect(result?.actions).toMatchObject([{ tool: 'code-reviewer__run', ok: true }])
    expect(requests.filter((request) => !isReviewer(request))).toHaveLength(2)
    const tree = await treeOf(session)
    expect(tree.children).toMatchObject([{ id: child.id, runs: [{ state: 'completed' }] }])
  })
})

describe('a disk that takes no writes', () => {
  it('F7: refuses a submission with 503, keeps nothing of it, and takes the retry', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    faults.statement = anyWrite
    await expectUnavailable(await send(session, 'go', 'k'))
    await expectUnavailable(await send(session, 'go', 'k', {}))
    faults.statement = undefined
    expect((await treeOf(session)).runs).toEqual([])
    expect(await (await send(session, 'go', 'k')).json()).toMatchObject({
      result: { result: 'hi' },
    })
    expect((await treeOf(session)).runs).toHaveLength(1)
    expect(countOf(await typesOf(session), 'run_started')).toBe(1)
  })

  it('F7: refuses a new session with 503, and makes it when it can', async () => {
    const headers = { 'Idempotency-Key': 'a full disk' }
    faults.statement = anyWrite
    await expectUnavailable(await call('/api/sessions', { json: {}, headers }))
    faults.statement = undefined
    const made = await callJson('/api/sessions', { json: {}, headers })
    expect(await treeOf(made.id)).toMatchObject({ id: made.id, runs: [] })
  })

  it('F7: refuses a decision and a message on the way with 503, and the run waits on', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    const session = await newSession()
    const run = await submit(session, { requireApproval: ['kv__*'] })
    const { pauses } = await reached(session, run, 'parked')
    const path = `${pathOf(session)}/${run}`
    const decide = () =>
      call(`${path}/decisions`, { json: { call: pauses![0]!.call, decision: 'approve' } })
    faults.statement = anyWrite
    await expectUnavailable(await decide())
    await expectUnavailable(await call(`${path}/messages`, { json: { message: 'also b' } }))
    faults.statement = undefined
    expect((await reached(session, run, 'parked')).pauses).toEqual(pauses)
    expect((await decide()).status).toBe(200)
    await reached(session, run, 'completed')
  })

  it('F7: in the middle of a run: the operator sees it, and the run goes on once writes work again', async () => {
    const { requests } = withModel((request, index) => {
      if (index === 1) faults.statement = anyWrite
      return isAnswered(request) ? { text: 'done' } : setFact
    })
    const session = await newSession()
    const run = await submit(session)
    expect(await incident(session, 'storage_failed')).toMatchObject({ run })
    expect((await callJson('/api/operator/health')).status).toBe('degraded')
    expect((await callJson(`${pathOf(session)}/${run}`)).state).toBe('running')
    faults.statement = undefined
    expect(await alarm(session)).toBe(true)
    const { result } = await reached(session, run, 'completed')
    expect(result?.actions).toMatchObject([{ tool: 'kv__set', ok: true }])
    // The request whose answer was lost is asked, and charged, again.
    expect(requests).toHaveLength(3)
    expect(countOf(await typesOf(session), 'run_finished')).toBe(1)
    expect(countOf(await typesOf(session), 'tool_finished')).toBe(1)
  })

  it('F7: one write refused on the way fails no run: it is taken up again', async () => {
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    const session = await newSession()
    const refusedOnce = faults.refused + 1
    faults.statement = { test: () => faults.refused < refusedOnce && requests.length > 1 }
    const run = await submit(session)
    await incident(session, 'storage_failed')
    await alarm(session)
    await reached(session, run, 'completed')
    expect(faults.refused).toBe(refusedOnce)
  })

  it.each([
    { meanwhile: 'nothing comes', isTried: false },
    { meanwhile: 'a message is refused', isTried: true },
  ])(
    'F7: what cannot be taken up while $meanwhile leaves no gap in the log, and nothing overtakes it',
    async ({ isTried }) => {
      const asked: string[] = []
      withModel((request, index) => {
        const tasks = request.messages.filter(({ role }) => role === 'user')
        asked.push(String(tasks.at(-1)!.content))
        return index === 0 ? { text: '', wait: never } : { text: `heard ${tasks.length}` }
      })
      const session = await newSession()
      const runs = [await submit(session), await submit(session)]
      await eventually(async () => expect(asked).toHaveLength(1))
      await abort(session)
      faults.statement = /INTO log/
      await treeOf(session) // opens the object, which takes up what it can: nothing
      if (isTried) await expectUnavailable(await send(session, 'three'))
      faults.statement = undefined
      runs.push((await callJson(pathOf(session), { json: { task: 'three' } })).run)
      for (const run of runs) await reached(session, run, 'completed')
      expect(await eventually(async () => (await treeOf(session)).runs.map(resultOf))).toEqual([
        'heard 1',
        'heard 2',
        'heard 3',
      ])
      const places = (await eventsOf(session)).map(({ data }) => data.seq)
      expect(places).toEqual(places.map((_place, index) => index + 1))
    },
  )

  it('F7: is forgotten by the health page once the run has ended after all', async () => {
    withModel((_request, index) => {
      if (index === 0) faults.statement = anyWrite
      return { text: 'done' }
    })
    const session = await newSession()
    await submit(session) // alone in its queue, so that its row is there before the disk is full
    await incident(session, 'storage_failed')
    faults.statement = undefined
    await alarm(session)
    await alarm(session)
    await noIncident(session)
  })
})

describe('an object that cannot start', () => {
  it.each([
    { what: 'its first read', statement: /sqlite_master/ },
    { what: 'taking up its runs', statement: /WITH RECURSIVE back/ },
  ])(
    'F8: because $what fails: 503, then it works, with nothing half done',
    async ({ statement }) => {
      withModel(() => ({ text: 'hi' }))
      const session = await newSession()
      await send(session, 'one', 'k')
      const before = [await treeOf(session), await eventsOf(session)]
      await abortAllDurableObjects()
      faults.statement = statement
      await expectUnavailable(await call(`/api/sessions/${session}`))
      await expectUnavailable(await send(session, 'two', 'l'))
      faults.statement = undefined
      expect([await treeOf(session), await eventsOf(session)]).toEqual(before)
      expect((await send(session, 'two', 'l')).status).toBe(200)
    },
  )

  it('F8: makes its table and its first rows together or not at all', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await sessions.idFor('named', [operator, 'half made'])
    const chat = () =>
      call('/v1/chat/completions', {
        json: { model: 'orchestrator', messages: [{ role: 'user', content: 'x' }] },
        headers: { 'x-isola-session': 'half made' },
      })
    faults.statement = /INSERT INTO log/
    expect((await chat()).status).toBe(503)
    faults.statement = undefined
    expect(await tablesOf(session)).not.toContain('log')
    expect((await chat()).status).toBe(200)
  })
})

describe('an alarm', () => {
  /** A run that was cut before its model answered. */
  async function cutRun() {
    let isCut = true
    const { requests } = withModel(() => ({ text: 'done', ...(isCut && { wait: never }) }))
    const session = await newSession()
    const run = await submit(session)
    // Its body goes out in pieces: the cut comes once the server has all of it.
    await vi.waitFor(() => expect(requests).toHaveLength(1))
    isCut = false
    return { session, run, requests }
  }

  it('F10: that comes twice at once takes a run up once', async () => {
    const { session, run, requests } = await cutRun()
    await abortAllDurableObjects()
    vi.setSystemTime(Date.now() + 20_000)
    await runInDurableObject(stubOf(session), async (instance): Promise<void> => {
      const object = instance as Answer
      await Promise.all([object.alarm(), object.alarm()])
      await object.alarm()
    })
    await reached(session, run, 'completed')
    expect(requests).toHaveLength(2)
    expect(countOf(await typesOf(session), 'run_finished')).toBe(1)
  })

  it('F10: that comes days late finds everything', async () => {
    const { session, run } = await cutRun()
    await abortAllDurableObjects()
    expect(await alarm(session, 5 * days)).toBe(true)
    const { result } = await reached(session, run, 'completed')
    expect(result?.usage.timeMs).toBeLessThan(days) // the run did no work meanwhile
  })

  it('F10: whose work throws comes back; the operator sees it while it goes on', async () => {
    const { session, run } = await cutRun()
    await abortAllDurableObjects()
    faults.statement = /name = 'todo'/
    expect(await alarm(session)).toBe(true)
    await incident(session, 'alarm_failed')
    faults.statement = undefined
    expect(await alarm(session)).toBe(true)
    await noIncident(session)
    await reached(session, run, 'completed')
  })

  it('F10: whose object cannot start comes again by itself, and the run ends without a request', async () => {
    const { session, run } = await cutRun()
    // A real alarm, and soon.
    await runInDurableObject(stubOf(session), async (_instance, { storage }) => {
      await storage.setAlarm(Date.now() + 200)
    })
    await abortAllDurableObjects()
    faults.refused = 0
    faults.statement = /sqlite_master/
    await eventually(() => expect(faults.refused).toBeGreaterThan(0))
    faults.statement = undefined
    const path = `/api/operator/audit?session=${session}`
    const ends = await eventually(async () => {
      const records = (await callJson(path)).records as Answer[]
      const found = records.filter(({ type }) => type === 'run_finished')
      expect(found).toHaveLength(1)
      return found
    })
    expect(ends).toMatchObject([{ run, data: { state: 'completed' } }])
  })
})

describe('the database', () => {
  const recordsOf = async (session: string) =>
    (await callJson(`/api/operator/audit?session=${session}&limit=500`)).records as Answer[]
  const expectWhole = async (session: string) => {
    const events = await eventsOf(session)
    const records = await recordsOf(session)
    expect(records.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(records.map(({ type }) => type)).toEqual(events.map(({ event }) => event))
  }

  it('F15: is down: runs go on, the operator sees it, and the record arrives whole, once and in order', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    faults.database = 'down'
    const session = await newSession()
    for (const task of ['one', 'two']) expect((await send(session, task)).status).toBe(200)
    // The record is sent a second after the end of a run: wait until that has failed, before the database is back.
    const { lost } = faults
    await eventually(() => expect(faults.lost).toBeGreaterThan(lost))
    await alarm(session)
    await incident(session, 'audit_behind')
    expect(await callJson('/api/operator/health')).toMatchObject({
      status: 'degraded',
      database: 'unreachable',
    })
    await alarm(session)
    faults.database = 'ok'
    expect(await recordsOf(session)).toEqual([])
    expect(await alarm(session)).toBe(true)
    await expectWhole(session)
    await noIncident(session)
    expect((await callJson('/api/operator/health')).database).toBe('ok')
  })

  it('F15: is down, and the objects are lost as well: nothing of the record is', async () => {
    withModel(() => ({ text: 'done' }))
    faults.database = 'down'
    const session = await newSession()
    await send(session, 'one')
    await alarm(session)
    await incident(session, 'audit_behind')
    await abortAllDurableObjects()
    faults.database = 'ok'
    expect(await alarm(session)).toBe(true)
    await expectWhole(session)
    await noIncident(session)
  })

  it('F15: takes a batch and loses its answer: the batch comes again and lands once', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    const session = await newSession()
    await send(session, 'one')
    faults.database = 'silent'
    await alarm(session)
    await send(session, 'two')
    await alarm(session)
    await abortAllDurableObjects()
    await alarm(session)
    faults.database = 'ok'
    expect(await alarm(session)).toBe(true)
    await expectWhole(session)
  })

  it('F15: is down: what an operator decides or reads there is refused with 503', async () => {
    const run = `run_${'D'.repeat(22)}`
    faults.database = 'down'
    for (const path of ['audit', 'runs', `runs/${run}`]) {
      await expectUnavailable(await call(`/api/operator/${path}`))
    }
    for (const verb of ['retry', 'drop']) {
      await expectUnavailable(await call(`/api/operator/runs/${run}/${verb}`, { method: 'POST' }))
    }
  })

  it('F15: is down when a Worker starts: it serves, and asks again what it could not read', async () => {
    withModel(() => ({ text: 'done' }))
    faults.database = 'down'
    const app = createHttpApp(composeRuntime(env as unknown as Env).http, routeTable)
    const ask = async (path: string, json?: object) => {
      const headers = {
        authorization: 'Bearer isk_test_operator_key',
        'content-type': 'application/json',
      }
      const init = { headers, ...(json && { method: 'POST', body: JSON.stringify(json) }) }
      const response = await app.fetch(new Request(`http://isola.test${path}`, init), env as never)
      return { status: response.status, body: (await response.json()) as Answer }
    }
    const { body: made } = await ask('/api/sessions', {})
    const ran = await ask(pathOf(made.id), { task: 'go', wait: true })
    expect(ran).toMatchObject({ status: 200, body: { state: 'completed' } })
    const health = await ask('/api/operator/health')
    expect(health.body).toMatchObject({ migrations: { state: 'unreachable' } })
    faults.database = 'ok'
    expect((await ask('/api/operator/health')).body.migrations.state).toBe('ready')
  })

  it('F15: is slow: no run waits for it, and the health page waits three seconds', async () => {
    withModel(() => ({ text: 'done' }))
    const gate = Promise.withResolvers<void>()
    const session = await newSession()
    faults.until = gate.promise
    faults.database = 'slow'
    const startedMs = performance.now()
    expect((await send(session, 'one')).status).toBe(200)
    expect(performance.now() - startedMs).toBeLessThan(2_000)
    expect((await callJson('/api/operator/health')).database).toBe('unreachable')
    expect(performance.now() - startedMs).toBeLessThan(8_000)
    gate.resolve()
    await eventually(() => expectWhole(session))
  })
})

describe('a request that comes more than once', () => {
  it('F17: fifty copies at once make one run, and are answered alike', async () => {
    const { requests } = withModel(() => ({ text: 'once' }))
    const session = await newSession()
    const copies = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const response = await send(session, 'go', 'k', index % 2 ? {} : { wait: true })
        return `${response.status} ${await response.text()}`
      }),
    )
    expect(new Set(copies).size).toBe(2) // the receipt, or the result
    expect((await send(session, 'other', 'k')).status).toBe(422)
    expect(requests).toHaveLength(1)
    expect((await treeOf(session)).runs).toHaveLength(1)
  })

  it('F31: every call of a session that the platform repeats has one effect', async () => {
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    const twice = async <T>(ask: () => Promise<T>): Promise<T> => {
      const first = await ask()
      expect(await ask()).toEqual(first)
      return first
    }
    const session = await sessions.idFor('named', ['twice'])
    const at = sessions.at(session)
    await twice(() => at.create({ agent: 'orchestrator', principal: operator, session }))
    const keyed = submissionOf('go', { idempotencyKey: 'k', requireApproval: ['kv__*'] })
    const accepted = valueOf(await at.submit(session, keyed))
    const again = valueOf(await at.submit(session, keyed))
    expect(again).toMatchObject({ run: accepted.run, isJoined: true })
    const { pauses } = await reached(session, accepted.run, 'parked')
    const decide = () =>
      at.decide(operator, accepted.run, pauses![0]!.call, { decision: 'approve' })
    for (const _ of [1, 2]) valueOf(await decide())
    await reached(session, accepted.run, 'completed')
    valueOf(await decide()) // late, as a client that lost the answer does
    expect(requests).toHaveLength(2)
    await twice(() => at.cancel(operator, accepted.run, 'too late'))
    const delivery = {
      parentRun: accepted.run,
      call: 'call_background',
      agent: 'code-reviewer',
      session: 'ses_child',
      isBackground: true,
      result: { ok: true, output: 'found two bugs' } as const,
    }
    await twice(() => at.deliver(delivery))
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    expect(JSON.stringify(messages).match(/found two bugs/g)).toHaveLength(1)
    const open = await submit(session, { requireApproval: ['kv__*'] })
    await reached(session, open, 'parked')
    const say = { role: 'user', text: 'and b', taint: ['user'] } as const
    await twice(() => at.steer(operator, open, say, 'steer once'))
    await twice(() => at.cancel(operator, open, 'enough'))
    expect(countOf(await typesOf(session), 'run_finished')).toBe(2)
    await twice(() => at.cancelCall('run_above', 'call_1', 'enough'))
    const outcomes = [codeOf(await at.delete(operator)), codeOf(await at.delete(operator))]
    expect(outcomes).toEqual(['ok', 'request_not_found'])
  })

  it('F18: messages that come together are worked on one by one, as they were accepted; too many get 429', async () => {
    const gate = Promise.withResolvers<void>()
    let atWork = 0
    let most = 0
    const { requests } = withModel(() => {
      most = Math.max(most, (atWork += 1))
      return { text: 'done', wait: gate.promise.then(() => void (atWork -= 1)) }
    })
    const session = await newSession()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => send(session, `task ${index}`, undefined, {})),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(3) // one works, sixteen wait
    expect(refused.every((answer) => Number(answer.headers.get('retry-after')) > 0)).toBe(true)
    gate.resolve()
    const accepted = answers.filter(({ status }) => status === 202)
    const runs = await Promise.all(accepted.map(async (one) => ((await one.json()) as Answer).run))
    for (const run of runs) await reached(session, run, 'completed')
    expect(most).toBe(1)
    expect(requests).toHaveLength(17)
    const ends = (await eventsOf(session)).flatMap(({ event, data }) =>
      event === 'run_finished' ? [data.run] : [],
    )
    expect(ends).toEqual((await treeOf(session)).runs.map(({ id }: Answer) => id))
  })
})

describe('a client that goes', () => {
  it('F28: leaves its run at work on the native API, readable afterwards', async () => {
    const gate = Promise.withResolvers<void>()
    withModel(() => ({ text: 'done', wait: gate.promise }))
    const session = await newSession()
    const run = await submit(session)
    const stream = await call(`/api/sessions/${session}/events?run=${run}`)
    await stream.body!.cancel('gone')
    gate.resolve()
    const { result } = await reached(session, run, 'completed')
    expect(result?.usage).toMatchObject({ tokens: 110, modelCalls: 1 })
  })

  it('F28: ends its streamed run if no other reader follows, and what was sent is charged', async () => {
    const upstreamServer = withModel(() => ({ wait: never }))
    const session = await newSession()
    const at = sessions.at(session)
    const { receipt, reader } = valueOf(await at.runStream(session, submissionOf('go')))
    const view = valueOf(await at.abandon(operator, receipt.run, reader))
    expect(view.state).toBe('cancelled')
    expect(upstreamServer.aborted()).toBe(1)
    expect(view.result?.usage.modelCalls).toBe(1)
    expect(view.result?.usage.tokens).toBeGreaterThan(110)
    expect((await treeOf(session)).usage.tokens).toBe(view.result?.usage.tokens)
  })
})

describe('a clock that jumps', () => {
  const jumping = (byMs: number, at: number) =>
    withModel((request, index) => {
      if (index === at) vi.setSystemTime(Date.now() + byMs)
      return isAnswered(request) ? { text: 'done' } : setFact
    })
  const durationsOf = async (session: string) =>
    (await eventsOf(session)).flatMap(({ data }) => data.data?.durationMs ?? [])

  it.each([0, 1])(
    'F29: back by days during model call %i: no duration is negative, and the run ends',
    async (at) => {
      jumping(-3 * days, at)
      const session = await newSession()
      const run = await submit(session)
      const { result } = await reached(session, run, 'completed')
      expect(result?.usage.timeMs).toBeGreaterThanOrEqual(0)
      expect(result!.finishedAtMs).toBeGreaterThanOrEqual(result!.startedAtMs)
      for (const duration of await durationsOf(session)) expect(duration).toBeGreaterThanOrEqual(0)
      for (const { durationMs } of result!.actions) expect(durationMs).toBeGreaterThanOrEqual(0)
    },
  )

  it('F29: back by days during a tool call: no duration is negative', async () => {
    const { requests } = withModel((request) => {
      if (!isReviewer(request)) return isAnswered(request) ? { text: 'done' } : callReviewer
      vi.setSystemTime(Date.now() - 3 * days)
      return { text: 'reviewed' }
    })
    const session = await newSession()
    const { result } = await reached(session, await submit(session), 'completed')
    expect(result?.actions).toMatchObject([{ tool: 'code-reviewer__run', ok: true }])
    for (const duration of await durationsOf(session)) expect(duration).toBeGreaterThanOrEqual(0)
    for (const { durationMs } of result!.actions) expect(durationMs).toBeGreaterThanOrEqual(0)
    expect(requests).toHaveLength(3)
  })

  it.each([0, 1])(
    'F29: forward by days during model call %i: the run ends, once, within its lease of tokens',
    async (at) => {
      jumping(3 * days, at)
      const session = await newSession()
      const run = await submit(session, { limits: { maxTokens: 30_000 } })
      const view = await eventually(async () => {
        const found = valueOf(await sessions.at(session).result(operator, run))
        expect(found.result).toBeDefined()
        return found
      })
      // Its time is the wall's: a jump uses it up, and then it says so.
      expect(['completed', 'stopped']).toContain(view.state)
      if (view.state === 'stopped') expect(view.result?.error?.code).toBe('lease_time')
      expect(view.result?.usage.tokens).toBeLessThanOrEqual(30_000)
      expect(countOf(await typesOf(session), 'run_finished')).toBe(1)
    },
  )

  it('F29: back and forth while a run is parked: the pause ends when its time is over, and not before', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'done' } : setFact))
    const session = await newSession()
    const run = await submit(session, { requireApproval: ['kv__*'] })
    const { pauses } = await reached(session, run, 'parked')
    const { expiresAtMs } = pauses![0]!
    vi.setSystemTime(expiresAtMs! - 10 * days)
    await runDurableObjectAlarm(stubOf(session))
    await reached(session, run, 'parked')
    vi.setSystemTime(expiresAtMs! - 1_000)
    await runDurableObjectAlarm(stubOf(session))
    expect((await reached(session, run, 'parked')).pauses).toEqual(pauses)
    vi.setSystemTime(expiresAtMs! + 1_000)
    await runDurableObjectAlarm(stubOf(session))
    const { result } = await reached(session, run, 'completed')
    expect(result?.actions).toMatchObject([{ code: 'tool_expired' }])
  })
})

describe('an object that has too much to do', () => {
  it('F30: is asked once, and the client is told when to come back', async () => {
    let asked = 0
    const overloaded = async () => {
      asked += 1
      throw Object.assign(new Error('Durable Object is overloaded.'), {
        overloaded: true,
        retryable: true,
      })
    }
    const SESSION = { getByName: () => new Proxy({}, { get: () => overloaded }) }
    const app = createHttpApp(
      composeRuntime({ ...env, SESSION } as unknown as Env).http,
      routeTable,
    )
    const headers = { authorization: 'Bearer isk_test_operator_key' }
    const url = `http://isola.test/api/sessions/ses_${'F'.repeat(22)}`
    await expectUnavailable(await app.fetch(new Request(url, { headers }), env as never))
    expect(asked).toBe(1)
  })
})

describe('a run that is cut again and again', () => {
  it('F36: is given up in the end; the operator sees it, and starts its task again', async () => {
    let isPoison = true
    const { requests } = withModel(() => ({ text: 'done', ...(isPoison && { wait: never }) }))
    const session = await newSession()
    const run = await submit(session)
    for (let lives = 1; lives <= 6; lives += 1) {
      await eventually(() => expect(requests).toHaveLength(Math.min(lives, 6)))
      await abort(session)
      await treeOf(session) // wakes it
    }
    const { result } = await reached(session, run, 'failed')
    expect(result?.error?.code).toBe('run_given_up')
    await incident(session, 'run_given_up')
    isPoison = false
    // The object may sleep: nothing is left to do, but to be deleted some day.
    await alarm(session)
    expect(await jobsOf(session)).toEqual(['retention'])
    const listed = (await callJson('/api/operator/runs')).runs as Answer[]
    expect(listed.filter((one) => one.run === run)).toMatchObject([{ session, state: 'open' }])
    const again = await callJson(`/api/operator/runs/${run}/retry`, { method: 'POST' })
    await reached(session, again.run, 'completed')
    expect(await callJson(`/api/operator/runs/${run}/retry`, { method: 'POST' })).toEqual(again)
    expect((await call(`/api/operator/runs/${run}/drop`, { method: 'POST' })).status).toBe(409)
  })
})

describe('a value that does not fit', () => {
  it('F35: a message too large for a row is refused with 413, before anything is written', async () => {
    const { requests } = withModel(() => ({ text: 'hi' }))
    const content = 'x'.repeat(2_200_000)
    const named = await sessions.idFor('named', [operator, 'large'])
    const chat = await call('/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content }] },
      headers: { 'x-isola-session': 'large' },
    })
    expect(chat.status).toBe(413)
    expect(await tablesOf(named)).toEqual([])
    const session = await newSession()
    const before = await tablesOf(session)
    expect((await send(session, content)).status).toBe(413)
    // Fewer characters, but three bytes each.
    expect((await send(session, '語'.repeat(700_000))).status).toBe(413)
    expect(await tablesOf(session)).toEqual(before)
    expect((await treeOf(session)).runs).toEqual([])
    expect(requests.filter((request) => JSON.stringify(request).length > 500_000)).toEqual([])
  })

  it('F35: a value that just fits is kept whole, and an answer over two megabytes too', async () => {
    const long = '語'.repeat(800_000)
    withModel(() => ({ text: long }))
    const session = await newSession()
    const task = 'x'.repeat(1_800_000)
    expect((await send(session, task)).status).toBe(200)
    await abortAllDurableObjects()
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    expect(messages.map(({ text }: Answer) => text.length)).toEqual([task.length, long.length])
    expect(messages[1].text).toBe(long)
  })

  it('F35: a value too large for its place is an error the model reads; nothing of it is kept', async () => {
    const session = await newSession()
    const answer = await sessions.at(session).storage({
      verb: 'set',
      space: 'plugin:kv',
      key: 'large',
      value: 'x'.repeat(1_100_000),
      quotaBytes: 5_000_000,
    })
    expect(answer.error).toContain('larger than')
    const list = { verb: 'list', space: 'plugin:kv', prefix: '', limit: 10 } as const
    expect((await sessions.at(session).storage(list)).keys).toEqual([])
  })
})
