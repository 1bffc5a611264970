import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Reply } from '#contracts/reply.ts'
import type { RunView } from '#contracts/run-view.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { SubmitRequest } from '#contracts/submission.ts'
import { composeRuntime } from '../../src/composition.ts'
import { createHttpApp } from '../../src/http/app.ts'
import { routeTable } from '../../src/routes.gen.ts'
import { composeEntry } from '../../src/sessions/entry/compose.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'
import before from '../fixtures/sessions/n-1.json' with { type: 'json' }
import * as older from '../fixtures/sessions/reader-n-1.ts'

const operator = 'operator'
let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

type StoredObject = (typeof before.cut.objects)[number]

/** Puts rows that another version wrote into the object of their session, as a deployment finds them. */
async function load(objects: readonly StoredObject[]): Promise<void> {
  for (const { session, tables } of objects) {
    await runInDurableObject(stubOf(session), async (_instance, { storage }) => {
      for (const { name, sql, columns, rows } of tables) {
        storage.sql.exec(sql.replace('CREATE TABLE', 'CREATE TABLE IF NOT EXISTS'))
        storage.sql.exec(`DELETE FROM ${name}`)
        const marks = columns.map(() => '?').join(', ')
        for (const row of rows) storage.sql.exec(`INSERT INTO ${name} VALUES (${marks})`, ...row)
      }
      await storage.setAlarm(Date.now() + 50)
    })
  }
  await abortAllDurableObjects()
}

const isReviewer = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('review') &&
  !String(messages[0]?.content).includes('Available tools')
const isAnswered = ({ messages }: UpstreamRequest) => messages.at(-1)!.role === 'tool'
const valueOf = <T>(reply: Reply<T>): T => {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`)
  return reply.value
}
const reached = (session: string, run: string, state: RunView['state']): Promise<RunView> =>
  vi.waitFor(
    async () => {
      const view = valueOf(await sessions.at(session).result(operator, run))
      expect(view.state).toBe(state)
      return view
    },
    { timeout: 60_000, interval: 20 },
  )
const eventsOf = async (session: string) =>
  readSse(await call(`/api/sessions/${session}/events?follow=false`))
const submissionOf = (text: string, more: object = {}): SubmitRequest => ({
  principal: operator,
  messages: [{ role: 'user', text, taint: ['user'] }],
  trace: 'a'.repeat(32),
  pauses: 'park',
  ...more,
})
const sendTo = (session: string, task: string, key: string) =>
  call(`/api/sessions/${session}/runs`, {
    json: { task, wait: true },
    headers: { 'Idempotency-Key': key },
  })
const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string

describe('F32: rows of the version before', () => {
  it('are read: transcript, tree, events and result are what that version showed', async () => {
    const { finished } = before
    await load(finished.objects)
    const [root, child] = finished.objects.map(({ session }) => session)
    expect(await callJson(`/api/sessions/${root}/transcript`)).toEqual(finished.transcript)
    const events = await eventsOf(root!)
    expect(events.map(({ id, event }) => ({ id, event }))).toEqual(finished.events)
    const { run, result } = finished
    expect((await callJson(`/api/sessions/${root}/runs/${run}`)).result).toEqual(result)
    expect(await callJson(`/api/sessions/${root}`)).toMatchObject({
      usage: finished.usage,
      runs: [{ id: run, state: 'completed' }],
      children: [{ id: child, usage: finished.childUsage, parent: { session: root, run } }],
    })
  })

  it('reach the audit log whole, once and in order', async () => {
    const { finished } = before
    await load(finished.objects)
    const [root] = finished.objects.map(({ session }) => session)
    expect((await callJson(`/api/sessions/${root}`)).runs).toHaveLength(1)
    const records = await vi.waitFor(
      async () => {
        const page = await callJson(`/api/operator/audit?session=${root}`)
        expect(page.records).toHaveLength(finished.events.length)
        return page.records as Answer[]
      },
      { timeout: 60_000 },
    )
    expect(records.map(({ seq }) => seq)).toEqual(finished.events.map((_, index) => index + 1))
  })

  it('are joined by a request that was sent to that version first; another body is refused', async () => {
    const { requests } = withModel(() => ({ text: 'anew' }))
    const { finished } = before
    await load(finished.objects)
    const { session } = finished.objects[0]!
    const again = await sendTo(session, finished.task, finished.key)
    expect(again.status).toBe(200)
    expect(((await again.json()) as Answer).result).toEqual(finished.result)
    expect((await sendTo(session, 'Something else.', finished.key)).status).toBe(422)
    expect(requests).toHaveLength(0)
  })

  it('take new runs after them, with the conversation before', async () => {
    const { requests } = withModel(() => ({ text: 'as I said' }))
    const { finished } = before
    await load(finished.objects)
    const { session } = finished.objects[0]!
    expect((await sendTo(session, 'And again?', 'next')).status).toBe(200)
    expect(JSON.stringify(requests[0]!.messages)).toContain(finished.result.result)
    const events = await eventsOf(session)
    const places = events.flatMap(({ id }) => (id ? [Number(id.split(':')[1])] : []))
    expect(places).toEqual(places.map((_, index) => index + 1))
  })

  it('F33: a run that the deployment cut goes on: what was done is not repeated, what is unknown is told, and the queue follows', async () => {
    const { requests } = withModel(({ messages }) => ({
      text: `to ${String(messages.at(-1)!.role)}`,
    }))
    const { cut } = before
    await load(cut.objects)
    const { session } = cut.objects[0]!
    const { result } = await reached(session, cut.run, 'completed')
    expect(result?.actions).toMatchObject([
      { tool: 'kv__set', ok: true },
      { tool: 'http__request', ok: false, code: 'tool_outcome_unknown' },
    ])
    await reached(session, cut.queued.run, 'completed')
    // One request each: the cut turn's own reply was on record.
    expect(requests).toHaveLength(2)
    const types = (await eventsOf(session)).map(({ event }) => event)
    expect(types.filter((type) => type === 'run_resumed')).toHaveLength(1)
    expect(types.filter((type) => type === 'tool_finished')).toHaveLength(2)
    expect(types.filter((type) => type === 'run_finished')).toHaveLength(2)
    for (const { task, key, run } of [cut, cut.queued]) {
      expect(await (await sendTo(session, task, key)).json()).toMatchObject({ id: run })
    }
    expect(requests).toHaveLength(2)
  })

  it('F20, F33: a parent and its child, both cut, find each other again, and the child runs once', async () => {
    const { requests } = withModel((request) => ({
      text: isReviewer(request) ? 'reviewed' : 'all done',
    }))
    const { tree } = before
    await load(tree.objects)
    const [root, child] = tree.objects.map(({ session }) => session)
    const { result } = await reached(root!, tree.run, 'completed')
    expect(result).toMatchObject({
      result: 'all done',
      actions: [{ tool: 'code-reviewer__run', ok: true }],
    })
    const found = await callJson(`/api/sessions/${root}`)
    expect(found.children).toMatchObject([{ id: child, runs: [{ state: 'completed' }] }])
    expect(requests.filter(isReviewer)).toHaveLength(1)
    expect(requests).toHaveLength(2)
    expect(found.usage.tokens).toBeGreaterThanOrEqual(2 * 110 + found.children[0].usage.tokens)
  })
})

/** Every row of the log as a newer version may write it: with fields that no older one knows. */
async function addFields(session: string): Promise<void> {
  await runInDurableObject(stubOf(session), (_instance, { storage }) => {
    const rows = storage.sql.exec('SELECT run, turn, part, body FROM log').toArray()
    for (const { run, turn, part, body } of rows) {
      const newer = { ...JSON.parse(String(body)), later: { field: ['of a', 'newer version'] } }
      storage.sql.exec(
        'UPDATE log SET body = ? WHERE run = ? AND turn = ? AND part = ?',
        JSON.stringify(newer),
        run!,
        turn!,
        part!,
      )
    }
  })
}

const readAsOlder = (session: string) =>
  runInDurableObject(stubOf(session), (_instance, { storage }) => {
    const store = older.createSessionStore(storage)
    return {
      session: store.session(),
      runs: store.runs(),
      unfinished: store.unfinishedRuns().map(({ id }) => id),
      finals: store.runs().map(({ order }) => store.final(order)?.state),
      events: older.eventsAfter(store, 0).map(({ seq, type }) => ({ seq, type })),
      transcript: older.transcriptOf(store),
    }
  })

describe('F32: rows of this version', () => {
  it('are read by the code of the version before, unknown fields and all', async () => {
    withModel((request) => {
      if (isReviewer(request)) return { text: 'One problem.' }
      return isAnswered(request)
        ? { text: 'All done.' }
        : {
            calls: [
              { name: 'kv__set', input: { key: 'a', value: 1 } },
              { name: 'code-reviewer__run', input: { task: 'look' } },
            ],
          }
    })
    const session = await newSession()
    const first = await sendTo(session, 'go', 'k1')
    expect(first.status).toBe(200)
    const waiting = { requireApproval: ['kv__*'] }
    const { run } = valueOf(await sessions.at(session).submit(session, submissionOf('x', waiting)))
    await reached(session, run, 'parked')
    await addFields(session)
    const read = await readAsOlder(session)
    expect(read.session).toMatchObject({ id: session, agent: 'orchestrator' })
    expect(read.runs).toHaveLength(2)
    expect(read.finals).toEqual(['completed', undefined])
    expect(read.unfinished).toEqual([run])
    const events = await eventsOf(session)
    expect(read.events).toEqual(
      events.map(({ id, event }) => ({ seq: Number(id!.split(':')[1]), type: event })),
    )
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    // All but the labels, of which that version knows nothing.
    expect(messages.slice(0, 5)).toMatchObject(read.transcript.slice(0, 5))
    // And this version reads what a newer one added to.
    await abortAllDurableObjects()
    expect((await callJson(`/api/sessions/${session}/transcript`)).messages).toEqual(messages)
    expect(await eventsOf(session)).toEqual(events)
  })

  it('take in what the version before wrote in between', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    await sendTo(session, 'one', 'k1')
    // The version before writes a run's row anew: what it does not know, it keeps, since it copies the row.
    await addFields(session)
    const { id, later } = await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      const store = older.createSessionStore(storage)
      const [run] = store.runs()
      store.writeRun({ ...run!, wakes: run!.wakes + 1 })
      return store.runs()[0] as Answer
    })
    expect(later).toBeDefined()
    await abortAllDurableObjects()
    expect((await reached(session, id, 'completed')).result?.result).toBe('hi')
    expect((await sendTo(session, 'two', 'k2')).status).toBe(200)
  })
})

describe('F32: a call between two versions', () => {
  /** The surfaces of a Worker whose calls of sessions are those of another version. */
  const surfaceOf = (change: (submission: SubmitRequest) => SubmitRequest) => {
    const { http } = composeRuntime(env as unknown as Env)
    const at: SessionGateway['at'] = (id) => {
      const session = http.sessions.at(id)
      // What it can do is asked of a stub each time: there is nothing to copy.
      return Object.assign(Object.create(session) as typeof session, {
        submit: (name: string, submission: SubmitRequest) =>
          session.submit(name, change(submission)),
        run: (name: string, submission: SubmitRequest) => session.run(name, change(submission)),
      })
    }
    const sessions = { ...http.sessions, at }
    const entry = composeEntry({ ...http.sources, sessions, usage: http.principals.usage })
    const app = createHttpApp({ ...http, sessions, entry }, routeTable)
    return async (path: string, json: object) => {
      const headers = {
        authorization: 'Bearer isk_test_operator_key',
        'content-type': 'application/json',
      }
      const init = { method: 'POST', headers, body: JSON.stringify(json) }
      return app.fetch(new Request(`http://isola.test${path}`, init), env as never)
    }
  }

  it('of a later protocol is refused with 409, and leaves nothing', async () => {
    const { requests } = withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    const send = surfaceOf((submission) => ({ ...submission, protocol: 2 }))
    const response = await send(`/api/sessions/${session}/runs`, { task: 'go' })
    expect(response.status).toBe(409)
    expect(((await response.json()) as Answer).error).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('older version (protocol 1, asked 2)'),
    })
    expect((await callJson(`/api/sessions/${session}`)).runs).toEqual([])
    expect(requests).toHaveLength(0)
  })

  it('of the version before, which names no protocol and knows no newer field, is taken', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    const send = surfaceOf(({ protocol: _protocol, pauses: _pauses, ...submission }) => submission)
    const response = await send(`/api/sessions/${session}/runs`, { task: 'go', wait: true })
    expect(await response.json()).toMatchObject({ state: 'completed', result: { result: 'hi' } })
  })

  it('of the version before decides as the operator that it names, or as the owner', async () => {
    withModel((request) =>
      isAnswered(request)
        ? { text: 'set' }
        : { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] },
    )
    const policy = { approvers: [{ tools: 'kv__*', approver: 'operator' }] }
    await callJson('/api/operator/policy', { json: { policy } })
    try {
      const session = await newSession()
      const [own, principal] = [sessions.at(session), operator]
      const more = { requireApproval: ['kv__*'] }
      const { run } = valueOf(await own.submit(session, submissionOf('x', more)))
      const view = () => own.result(principal, run).then(valueOf)
      await vi.waitFor(async () => expect((await view()).state).toBe('parked'), { timeout: 60_000 })
      const [pause] = (await view()).pauses!
      const yes = { decision: 'approve', argsHash: pause!.argsHash } as const
      expect(await own.decide(principal, run, pause!.call, yes)).toMatchObject({
        ok: false,
        error: { code: 'request_forbidden' },
      })
      valueOf(await own.decide(principal, run, pause!.call, yes, 'ops'))
      await vi.waitFor(async () => expect((await view()).state).toBe('completed'), {
        timeout: 60_000,
      })
    } finally {
      await callJson('/api/operator/policy', { json: { policy: {} } })
    }
  })

  it('with a field that this version does not know is taken, and the field is ignored', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    const send = surfaceOf(
      (submission) => ({ ...submission, later: { field: 1 } }) as SubmitRequest,
    )
    const response = await send(`/api/sessions/${session}/runs`, { task: 'go', wait: true })
    expect(await response.json()).toMatchObject({ state: 'completed', result: { result: 'hi' } })
  })
})
