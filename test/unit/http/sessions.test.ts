import { describe, expect, it } from 'vitest'
import type { SessionTree } from '../../../src/contracts/session.ts'
import {
  createFakeApp,
  errorOf,
  delta,
  finished,
  resultOf,
  testRun,
  testSession,
} from '../../fakes/http-deps.ts'

const base = `/api/sessions/${testSession}`

describe('POST /api/sessions', () => {
  it.each([
    [{}, 'orchestrator'],
    [{ agent: 'code-reviewer' }, 'code-reviewer'],
  ])('with %j makes a session of %s', async (json, agent) => {
    const { send, calls } = createFakeApp()
    const response = await send('/api/sessions', { json })
    const { id } = (await response.json()) as SessionTree
    expect([response.status, response.headers.get('location')]).toEqual([
      201,
      `/api/sessions/${id}`,
    ])
    expect(calls).toEqual([
      { session: id, method: 'create', args: [{ agent, principal: 'operator', session: id }] },
    ])
  })

  it('needs no body', async () => {
    expect((await createFakeApp().send('/api/sessions', { method: 'POST' })).status).toBe(201)
  })

  it('refuses an agent that is not there', async () => {
    const response = await createFakeApp().send('/api/sessions', { json: { agent: 'nobody' } })
    expect([response.status, (await errorOf(response)).param]).toEqual([404, 'agent'])
  })
})

describe('POST /api/sessions/:id/runs', () => {
  it('answers 202 with a receipt and where the result will be', async () => {
    const { send, submitted } = createFakeApp()
    const response = await send(`${base}/runs`, {
      json: { task: 'Do it', context: 'Some text', parameters: { temperature: 1, stop: ['x'] } },
      headers: { 'idempotency-key': 'k' },
    })
    expect([response.status, response.headers.get('location')]).toEqual([
      202,
      `${base}/runs/${testRun}`,
    ])
    expect(await response.json()).toMatchObject({
      session: testSession,
      run: testRun,
      isJoined: false,
    })
    expect(submitted()).not.toHaveProperty('agent')
    expect(submitted()).toMatchObject({
      principal: 'operator',
      messages: [
        { role: 'user', text: 'Do it\n\nContext:\nSome text', taint: ['user', 'context'] },
      ],
      parameters: { temperature: 1, stop: ['x'] },
      idempotencyKey: 'k',
    })
  })

  it('C1: answers with the result itself if told to wait', async () => {
    const { send } = createFakeApp()
    const response = await send(`${base}/runs`, { json: { task: 'Do it', wait: true } })
    expect([response.status, await response.json()]).toEqual([200, resultOf()])
  })

  it('refuses a model that only a substitute would answer', async () => {
    const response = await createFakeApp().send(`${base}/runs`, {
      json: { task: 'x', model: 'gpt-9' },
    })
    expect([response.status, await errorOf(response)]).toMatchObject([
      404,
      { code: 'model_not_found', param: 'model' },
    ])
  })

  it('names no agent, so that a session that is not there is not made by a run', async () => {
    const refusal = { code: 'request_not_found', message: 'No object.' }
    const { send, calls } = createFakeApp({ refusal })
    expect((await send(`${base}/runs`, { json: { task: 'x' } })).status).toBe(404)
    expect(calls.map(({ method }) => method)).toEqual(['submit'])
  })
})

describe('a session', () => {
  it.each([
    ['GET', base, 'tree', ['operator']],
    ['DELETE', base, 'delete', ['operator']],
    ['GET', `${base}/transcript`, 'transcript', ['operator']],
    ['GET', `${base}/runs/${testRun}`, 'result', ['operator', testRun]],
    [
      'POST',
      `${base}/runs/${testRun}/cancel`,
      'cancel',
      ['operator', testRun, 'Cancelled by the caller.'],
    ],
  ])('%s %s asks the object for its %s', async (method, path, name, args) => {
    const { send, calls } = createFakeApp()
    const response = await send(path, { method })
    expect(response.status).toBe(200)
    expect(await response.json()).toBeTypeOf('object')
    expect(calls).toEqual([{ session: testSession, method: name, args }])
  })

  it('passes on why it is cancelled', async () => {
    const { send, calls } = createFakeApp()
    await send(`${base}/runs/${testRun}/cancel`, { json: { reason: 'Enough.' } })
    expect(calls[0]?.args[2]).toBe('Enough.')
  })

  it('that is absent, malformed or another principal’s looks the same', async () => {
    const refusal = { code: 'request_not_found', message: 'It belongs to somebody else.' }
    const absent = await errorOf(await createFakeApp({ refusal }).send(base))
    const { send, calls } = createFakeApp()
    for (const id of [
      'x',
      'ses_short',
      `${testSession}x`,
      'ses_%2e%2e',
      '%00',
      'ses_'.padEnd(5_000, 'a'),
    ]) {
      const response = await send(`/api/sessions/${id}`)
      const error = await errorOf(response)
      expect([response.status, error.message]).toEqual([404, absent.message])
    }
    expect(calls).toEqual([])
  })
})

describe('GET /api/sessions/:id/events', () => {
  it('sends each event with its id, and deltas without one', async () => {
    const response = await createFakeApp().send(`${base}/events`)
    const events = (await response.text()).split('\n\n').filter((text) => text !== '')
    const last = finished(resultOf())
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(events).toEqual([
      ': isola events',
      `event: message_delta\ndata: ${JSON.stringify(delta('Hello there'))}`,
      `event: run_finished\nid: ${testRun}:9\ndata: ${JSON.stringify(last)}`,
    ])
  })

  it.each([
    ['', {}, { afterSeq: 0, follow: true }],
    ['?cursor=7&follow=false', {}, { afterSeq: 7, follow: false }],
    [
      `?cursor=${testRun}:7&run=${testRun}&follow=1`,
      {},
      { afterSeq: 7, run: testRun, follow: true },
    ],
    ['?cursor=7', { 'last-event-id': `${testRun}:12` }, { afterSeq: 12, follow: true }],
  ])('with %s and %j reads %j', async (query, headers, expected) => {
    const { send, calls } = createFakeApp()
    await (await send(`${base}/events${query}`, { headers })).text()
    expect(calls).toEqual([
      { session: testSession, method: 'events', args: ['operator', expected] },
    ])
  })

  it('ends with an error event when its source breaks', async () => {
    const stream = () =>
      new ReadableStream<Uint8Array>({ start: (c) => c.error(new Error('secret')) })
    const { send, faults } = createFakeApp({ stream })
    const text = await (await send(`${base}/events`)).text()
    expect(text).toContain(
      'event: error\ndata: {"error":{"type":"server_error","code":"internal_error"',
    )
    expect(text).not.toContain('secret')
    expect(faults).toHaveLength(1)
  })

  it('cancels nothing when its reader leaves', async () => {
    let isCancelled = false
    const stream = () => new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) })
    const { send, calls, gone } = createFakeApp({ stream })
    const response = await send(`${base}/events`)
    await response.body?.cancel()
    expect(isCancelled).toBe(true)
    expect([calls.map(({ method }) => method), gone]).toEqual([['events'], []])
  })

  it('answers HEAD without holding a stream', async () => {
    const response = await createFakeApp().send(`${base}/events`, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})
