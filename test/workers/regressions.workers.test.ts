import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import { pagesAfter } from '../../src/runtime/session/log/log-view.ts'
import { createSessionStore } from '../../src/runtime/session/storage/store.ts'
import type { RunRow } from '../../src/runtime/session/storage/stored-rows.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const isChild = (request: UpstreamRequest) =>
  String(request.messages[0]?.content).includes('review') &&
  !String(request.messages[0]?.content).includes('Available tools')
const isAnswered = (request: UpstreamRequest) =>
  request.messages.some(({ role }) => role === 'tool')
const never = new Promise<never>(() => {})
const callReviewer = { calls: [{ name: 'code-reviewer__run', input: { task: 'x' } }] }

const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const submit = (session: string, task: string) =>
  callJson(`/api/sessions/${session}/runs`, { json: { task } })
const runTask = async (session: string, task: string, headers: Record<string, string> = {}) =>
  (await callJson(`/api/sessions/${session}/runs`, { json: { task, wait: true }, headers })).result
const submissionOf = (text: string, more: Partial<SubmitRequest> = {}): SubmitRequest => ({
  agent: 'orchestrator',
  principal: 'operator',
  messages: [{ role: 'user', text, taint: ['user'] }],
  trace: 'a'.repeat(32),
  ...more,
})
const outcomeOf = (reply: Answer): string => (reply.ok ? reply.value.state : reply.error.code)

describe('a session', () => {
  it('is made once by requests at once: the same body is answered alike, another is refused', async () => {
    const create = (key: string, json: object) =>
      call('/api/sessions', {
        json: { agent: 'orchestrator', ...json },
        headers: { 'Idempotency-Key': key },
      })
    const alike = await Promise.all(Array.from({ length: 8 }, () => create('alike', {})))
    expect(new Set(await Promise.all(alike.map((one) => one.text()))).size).toBe(1)
    const limits = [1_000, 2_000, 3_000]
    const others = await Promise.all(
      limits.map((maxTokens) => create('others', { limits: { maxTokens } })),
    )
    expect(others.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 422, 422])
  })
})

describe('a run', () => {
  it('has another id than a run of another session under the same idempotency key', async () => {
    withModel((request) =>
      isChild(request) || isAnswered(request) ? { text: 'done' } : callReviewer,
    )
    const ids: string[] = []
    for (const session of [await newSession(), await newSession()]) {
      const { id } = await runTask(session, 'go', { 'Idempotency-Key': 'same' })
      const tree = await callJson(`/api/sessions/${session}`)
      ids.push(id, tree.children[0].runs[0].id)
    }
    expect(new Set(ids).size).toBe(4)
  })

  it('that waits is cancelled at once, while the one before it still works, and calls no model', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel(() => ({ text: 'one', wait: gate.promise }))
    const session = await newSession()
    const first = await submit(session, 'first')
    const second = await submit(session, 'second')
    const path = `/api/sessions/${session}/runs`
    expect((await callJson(`${path}/${second.run}`)).state).toBe('queued')
    const cancelled = await callJson(`${path}/${second.run}/cancel`, { json: {} })
    expect(cancelled.state).toBe('cancelled')
    expect((await callJson(`${path}/${first.run}`)).state).toBe('running')
    gate.resolve()
    await vi.waitFor(async () => {
      expect((await callJson(`${path}/${first.run}`)).state).toBe('completed')
    })
    expect((await runTask(session, 'third')).state).toBe('completed')
    expect(requests).toHaveLength(2)
    expect(await callJson(`${path}/${second.run}`)).toMatchObject({
      state: 'cancelled',
      result: { state: 'cancelled', modelCalls: [], usage: { modelCalls: 0, tokens: 0 } },
    })
  })

  it('goes on when a stream of it is closed while another request waits for it', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel(() => ({ text: 'done', wait: gate.promise }))
    const session = await sessions.idFor('named', ['abandon'])
    const at = sessions.at(session)
    const submission = submissionOf('go', { idempotencyKey: 'k' })
    const accepted = (await at.submit(session, submission)) as Answer
    const waiting = at.run(session, submission)
    // A request that came after it was answered, so it waits.
    await at.submit(session, submission)
    const left = await at.abandon('operator', accepted.value.run, 'The client has gone.')
    expect(outcomeOf(left)).toBe('running')
    gate.resolve()
    expect(outcomeOf(await waiting)).toBe('completed')
    expect(requests).toHaveLength(1)
  })

  it('ends when its stream is closed and no other reader waits for it', async () => {
    withModel(() => ({ wait: never }))
    const session = await sessions.idFor('named', ['abandon alone'])
    const at = sessions.at(session)
    const accepted = (await at.submit(session, submissionOf('go'))) as Answer
    const left = await at.abandon('operator', accepted.value.run, 'The client has gone.')
    expect(outcomeOf(left)).toBe('cancelled')
  })
})

describe('a sub-agent', () => {
  it('that has just started is the same one after a crash, and is charged once', async () => {
    let lives = 0
    const { requests } = withModel((request) => {
      if (isChild(request)) return (lives += 1) === 1 ? { wait: never } : { text: 'reviewed' }
      return isAnswered(request) ? { text: 'done' } : callReviewer
    })
    const session = await newSession()
    const { run } = await submit(session, 'go')
    await vi.waitFor(() => expect(lives).toBe(1), { timeout: 60_000, interval: 1 })
    await abortAllDurableObjects()
    await vi.waitFor(
      async () => {
        const view = await callJson(`/api/sessions/${session}/runs/${run}`)
        expect(view.state).toBe('completed')
      },
      { timeout: 60_000, interval: 200 },
    )
    const tree = await callJson(`/api/sessions/${session}`)
    expect(tree.children).toHaveLength(1)
    const [child] = tree.children
    expect(child.runs).toMatchObject([{ state: 'completed' }])
    expect(requests.filter((request) => !isChild(request))).toHaveLength(2)
    // The child's own calls, the one the crash cut among them, and two of the caller's.
    expect(child.usage.modelCalls).toBe(2)
    expect(tree.usage).toMatchObject({
      children: 1,
      toolCalls: 1,
      modelCalls: 2 + child.usage.modelCalls,
      tokens: 2 * 110 + child.usage.tokens,
    })
  })

  it('is cancelled when its caller wakes up cancelled', async () => {
    withModel((request) => (isChild(request) ? { wait: never } : callReviewer))
    const session = await newSession()
    const { run } = await submit(session, 'go')
    await vi.waitFor(
      async () => expect((await callJson(`/api/sessions/${session}`)).children).toHaveLength(1),
      { timeout: 60_000 },
    )
    const [child] = (await callJson(`/api/sessions/${session}`)).children as Answer[]
    expect(child.runs).toMatchObject([{ state: 'running' }])
    // A crash right after the cancellation was written, before anything came of it.
    await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      const store = createSessionStore(storage)
      store.writeRun({ ...store.findRun(run)!, cancelReason: 'Stop.' })
    })
    await abortAllDurableObjects()
    await vi.waitFor(
      async () => {
        const tree = await callJson(`/api/sessions/${session}`)
        expect(tree.runs).toMatchObject([{ state: 'cancelled' }])
        expect(tree.children).toMatchObject([{ id: child.id, runs: [{ state: 'cancelled' }] }])
      },
      { timeout: 60_000, interval: 100 },
    )
  })
})

describe('a session', () => {
  it('stays readable when a long run is cancelled twice, the second time for a shorter reason', async () => {
    const gate = Promise.withResolvers<void>()
    withModel(() => ({ text: 'one', wait: gate.promise }))
    const session = await newSession()
    await submit(session, 'first')
    const probe = await submit(session, 'q')
    const rowChars = await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      return JSON.stringify(createSessionStore(storage).findRun(probe.run)).length
    })
    // Its row is one part with a short reason, two with a long one.
    const task = 'q'.repeat(600_000 - rowChars - 100)
    const { run } = await submit(session, task)
    const path = `/api/sessions/${session}/runs/${run}`
    for (const reason of ['r'.repeat(400), 'x']) {
      expect((await callJson(`${path}/cancel`, { json: { reason } })).state).toBe('cancelled')
    }
    gate.resolve()
    await abortAllDurableObjects()
    expect((await callJson(path)).state).toBe('cancelled')
    expect((await callJson(`/api/sessions/${session}`)).runs).toHaveLength(3)
    expect((await call(`/api/sessions/${session}`, { method: 'DELETE' })).status).toBe(200)
  })

  it('keeps a row readable that becomes shorter', async () => {
    const row = (cancelReason: string): RunRow => ({
      id: 'run_1',
      order: 1,
      submission: { ...submissionOf('q'), agent: 'orchestrator' },
      bodyHash: '',
      createdAtMs: 1,
      wakeTurn: 0,
      wakes: 0,
      cancelReason,
    })
    const session = await sessions.idFor('named', ['row'])
    const found = await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      const store = createSessionStore(storage)
      store.writeSession({
        id: session,
        agent: 'orchestrator',
        principal: 'operator',
        createdAtMs: 1,
      })
      store.writeRun(row('r'.repeat(1_300_000)))
      store.writeRun(row('r'.repeat(700_000)))
      store.writeRun(row('short'))
      const fresh = createSessionStore(storage)
      return { run: fresh.findRun('run_1'), runs: fresh.runs() }
    })
    expect(found).toEqual({ run: row('short'), runs: [row('short')] })
  })

  it('that is deleted takes in nothing of a message that comes meanwhile', async () => {
    const session = await sessions.idFor('named', ['message after deletion'])
    const { deletion, message } = await raceDeletion(session, 'deletion')
    expect(deletion).toEqual({ ok: true, value: { deleted: true } })
    expect(['request_unavailable', 'request_not_found']).toContain(outcomeOf(message))
    expect(outcomeOf(await sessions.at(session).tree('operator'))).toBe('request_not_found')
    const said = await transcriptAfterOneMore(session)
    expect(said).not.toMatch(/newcomer|LATE ANSWER|opening/)
    expect(said).toContain('afterwards')
  })

  it('is deleted wholly or not at all when a message came just before', async () => {
    const session = await sessions.idFor('named', ['message before deletion'])
    const { deletion, message } = await raceDeletion(session, 'message')
    if (!deletion.ok) {
      expect(outcomeOf(deletion)).toBe('request_unavailable')
      expect(outcomeOf(message)).toBe('completed')
      expect(JSON.stringify(await sessions.at(session).transcript('operator'))).toMatch(
        /opening.*newcomer.*LATE ANSWER/,
      )
      expect((await sessions.at(session).delete('operator')).ok).toBe(true)
    }
    expect(await transcriptAfterOneMore(session)).not.toMatch(/newcomer|LATE ANSWER|opening/)
  })

  it('answers 503 or 404 to a message that comes after its deletion has begun', async () => {
    withModel(() => ({ text: 'fine' }))
    const session = await newSession()
    await runTask(session, 'first')
    await runInDurableObject(stubOf(session), (instance): void => {
      ;(instance as Answer).delete('operator')
    })
    const late = await call(`/api/sessions/${session}/runs`, { json: { task: 'x', wait: true } })
    expect([404, 503]).toContain(late.status)
    await vi.waitFor(async () => {
      expect((await call(`/api/sessions/${session}`)).status).toBe(404)
    })
  })

  it('gives its whole log to a reader, however long it is', async () => {
    const answer = 'a'.repeat(900_000)
    withModel((_request, index) => ({ text: `${index}${answer}` }))
    const session = await newSession()
    for (const task of ['one', 'two', 'three', 'four']) {
      expect((await runTask(session, task)).state).toBe('completed')
    }
    const response = await call(`/api/sessions/${session}/events`)
    const events = await readSse(response)
    expect(JSON.stringify(events).length).toBeGreaterThan(5 * 1_048_576)
    const ids = events.flatMap(({ id }) => (id ? [Number(id.split(':')[1])] : []))
    expect(ids).toEqual(ids.map((_, index) => index + 1))
    const ends = events.filter(({ event }) => event === 'run_finished')
    expect(ends.map(({ data }) => data.data.result.result.length)).toEqual(
      [1, 2, 3, 4].map(() => answer.length + 1),
    )
  })
})

interface Race {
  readonly deletion: Answer
  readonly message: Answer
}

/** What comes of a deletion and of a message that arrive in one go, in this order or the other. */
async function raceDeletion(session: string, first: 'deletion' | 'message') {
  const gate = Promise.withResolvers<void>()
  withModel((request) =>
    JSON.stringify(request.messages.at(-1)).includes('newcomer')
      ? { text: 'LATE ANSWER', wait: gate.promise }
      : { text: 'fine' },
  )
  const opened = await sessions.at(session).run(session, submissionOf('opening'))
  expect(outcomeOf(opened)).toBe('completed')
  return runInDurableObject(stubOf(session), async (object): Promise<Race> => {
    const instance = object as Answer
    const send = (): Promise<Answer> => instance.run(session, submissionOf('newcomer'))
    const early = first === 'message' ? send() : undefined
    const deleting: Promise<Answer> = instance.delete('operator')
    const answering = early ?? send()
    const deletion = await deleting
    gate.resolve()
    return { deletion, message: await answering }
  })
}

/** Sends a message under the same name, and tells what the session then holds. */
async function transcriptAfterOneMore(session: string): Promise<string> {
  const at = sessions.at(session)
  expect(outcomeOf(await at.run(session, submissionOf('afterwards')))).toBe('completed')
  expect(((await at.tree('operator')) as Answer).value.runs).toHaveLength(1)
  return JSON.stringify(await at.transcript('operator'))
}

/** A run that works, and one that was cancelled while it waited behind it. */
async function cancelQueued() {
  const gate = Promise.withResolvers<void>()
  withModel((_request, index) =>
    index === 0 ? { text: 'one', wait: gate.promise } : { text: 'x' },
  )
  const session = await newSession()
  const first = await submit(session, 'first')
  const second = await submit(session, 'second')
  const path = `/api/sessions/${session}/runs`
  await callJson(`${path}/${second.run}/cancel`, { json: {} })
  gate.resolve()
  await vi.waitFor(
    async () => expect((await callJson(`${path}/${first.run}`)).state).toBe('completed'),
    { timeout: 60_000 },
  )
  return { session, second: second.run as string }
}

describe('a session whose waiting run was cancelled', () => {
  it('tells a reader of the end of that run', async () => {
    const { session, second } = await cancelQueued()
    const events = await readSse(await call(`/api/sessions/${session}/events`))
    expect(events.map(({ event, data }) => `${data.run} ${event}`)).toContain(
      `${second} run_finished`,
    )
  })

  it('gives no place in its log twice after a wake', async () => {
    const { session } = await cancelQueued()
    await abortAllDurableObjects()
    const third = await runTask(session, 'third')
    const places = await runInDurableObject(stubOf(session), (_instance, { storage }) =>
      [...pagesAfter(createSessionStore(storage), 0, 1_000)].flat().map(({ seq }) => seq),
    )
    expect(new Set(places).size).toBe(places.length)
    const events = await readSse(await call(`/api/sessions/${session}/events`))
    expect(events.filter(({ data }) => data.run === third.id).map(({ event }) => event)).toContain(
      'run_started',
    )
  })
})
