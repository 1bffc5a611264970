import { describe, expect, it } from 'vitest'
import type { StreamItem } from '../../../src/contracts/event.ts'
import { zeroUsage } from '../../../src/contracts/lease.ts'
import { type SessionTree } from '../../../src/runtime/session/types/session-view.ts'
import { sessionProtocol } from '../../../src/runtime/session/types/submission.ts'
import {
  createFakeApp,
  errorOf,
  delta,
  finished,
  linesOf,
  parked,
  resultOf,
  testRun,
  testSession,
} from '../../fakes/http-deps.ts'
import { toldEvent } from '../../fakes/events.ts'

const { sessionId: _session, trace: _trace, ...viewOfParked } = parked
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

  it.each([
    ['waits for an operator: isola agent show helper', { state: 'active' }],
    ['is put aside, and nobody runs it: isola agent show helper', { state: 'archived' }],
    ['there is no such agent', undefined],
  ])('of an agent that does not run says to a caller who may see it: %s', async (text, found) => {
    // As much as is read of one.
    const show = async () => found as never
    const { send } = createFakeApp({ ...(found && { storedAgents: { show } }) })
    const response = await send('/api/sessions', { json: { agent: 'helper' } })
    expect(response.status).toBe(404)
    expect(await response.text()).toContain(text)
  })

  it('I12: limits what all its runs together may spend; dollars become billionths', async () => {
    const { send, calls } = createFakeApp()
    const limits = { maxTokens: 5_000, maxCostUsd: 0.25, maxTurns: 9, maxToolCalls: 0 }
    await send('/api/sessions', { json: { limits } })
    const expected = {
      maxTokens: 5_000,
      maxCostNanoUsd: 250_000_000,
      maxTurns: 9,
      maxToolCalls: 0,
    }
    expect(calls[0]?.args[0]).toMatchObject({ limits: expected })
  })

  it('shows the session as it was made, whatever it has done since', async () => {
    const { send } = createFakeApp()
    const made = (await (await send('/api/sessions', { json: {} })).json()) as SessionTree
    expect(made).toMatchObject({ createdAtMs: 1, runs: [], usage: zeroUsage, children: [] })
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
    expect(await response.json()).toEqual({
      session: testSession,
      run: testRun,
      createdAtMs: 1_790_000_000_000,
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

  it.each([
    ['over', 200, {}],
    ['parked', 202, { outcome: parked, view: viewOfParked }],
  ] as const)(
    'C1: told to wait, answers as GET of the run does, which is %s',
    async (_name, status, options) => {
      const { send } = createFakeApp(options)
      const waited = await send(`${base}/runs`, { json: { task: 'Do it', wait: true } })
      const location = waited.headers.get('location')!
      expect([waited.status, location]).toEqual([status, `${base}/runs/${testRun}`])
      expect(await waited.text()).toBe(await (await send(location)).text())
    },
  )

  it('submits what limits the run and who may be asked', async () => {
    const { send, submitted } = createFakeApp()
    const tool = { name: 'pick', description: 'Picks one.', inputSchema: { type: 'object' } }
    await send(`${base}/runs`, {
      json: {
        task: 'x',
        limits: {
          maxTokens: 10,
          maxCostUsd: 1.5,
          maxTimeMs: 60_000,
          maxDepth: 0,
          maxConcurrency: 2,
        },
        requireApproval: ['http__request', 'kv__*', '*'],
        clientTools: [tool],
        mayAsk: true,
      },
    })
    expect(submitted()).toMatchObject({
      limits: {
        maxTokens: 10,
        maxCostNanoUsd: 1_500_000_000,
        maxTimeMs: 60_000,
        maxDepth: 0,
        maxConcurrency: 2,
      },
      requireApproval: ['http__request', 'kv__*', '*'],
      clientTools: [tool],
      mayAsk: true,
      pauses: 'park',
      protocol: sessionProtocol,
    })
  })

  it('submits the same for what is left out and what is empty', async () => {
    const { send, submitted } = createFakeApp()
    await send(`${base}/runs`, { json: { task: 'x' } })
    const plain = submitted()
    const empty = { limits: {}, requireApproval: [], clientTools: [], mayAsk: false }
    await send(`${base}/runs`, { json: { task: 'x', ...empty } })
    expect(submitted()).toEqual(plain)
    expect(Object.keys(plain)).toEqual([
      'principal',
      'messages',
      'pauses',
      'mayRaise',
      'protocol',
      'trace',
      'origin',
    ])
  })

  it('F32: passes on that the session runs another version', async () => {
    const refusal = { code: 'request_conflict', message: 'This session runs an older version.' }
    const response = await createFakeApp({ refusal }).send(`${base}/runs`, { json: { task: 'x' } })
    expect([response.status, (await errorOf(response)).code]).toEqual([409, 'conflict'])
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
    ['GET', base, 'tree', ['operator', {}]],
    [
      'GET',
      `${base}?before=${testRun}&limit=5`,
      'tree',
      ['operator', { before: testRun, limit: 5 }],
    ],
    ['DELETE', base, 'delete', ['operator']],
    ['GET', `${base}/transcript`, 'transcript', ['operator', {}]],
    ['GET', `${base}/transcript?after=${testRun}`, 'transcript', ['operator', { after: testRun }]],
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
      {
        afterSeq: 7,
        cursor: { run: testRun, param: 'cursor' },
        run: testRun,
        follow: true,
      },
    ],
    [
      '?cursor=7',
      { 'last-event-id': `${testRun}:12` },
      { afterSeq: 12, cursor: { run: testRun, param: 'last-event-id' }, follow: true },
    ],
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
      'event: error\ndata: {"error":{"type":"server_error","code":"unavailable"',
    )
    expect(text).not.toContain('secret')
    expect(faults).toHaveLength(1)
  })

  const started = (type: 'run_started' | 'run_parked'): StreamItem =>
    toldEvent({ ...finished(resultOf(), 3), type, data: {} })
  it.each([
    [
      'stops in the middle of the run it follows',
      `?run=${testRun}`,
      [started('run_started')],
      true,
    ],
    ['brings nothing of a run from its start', `?run=${testRun}`, [], true],
    ['brings the end of the run', `?run=${testRun}`, [finished(resultOf())], false],
    ['stops while the run waits', `?run=${testRun}`, [started('run_parked')], false],
    ['has nothing after the cursor', `?run=${testRun}&cursor=9`, [], false],
    ['follows no run', '', [started('run_started')], false],
    ['is asked not to follow', `?run=${testRun}&follow=0`, [started('run_started')], false],
  ])('that %s (%s) ends with an error event: %4$s', async (_name, query, items, isCut) => {
    const { send, faults } = createFakeApp({ stream: () => linesOf(items) })
    const text = await (await send(`${base}/events${query}`)).text()
    expect(text.includes('event: error')).toBe(isCut)
    expect(faults).toHaveLength(isCut ? 1 : 0)
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
