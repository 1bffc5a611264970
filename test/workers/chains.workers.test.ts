import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const isReviewer = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('review') &&
  !String(messages[0]?.content).includes('Available tools')
const answers = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'tool').length
const callReviewer = { calls: [{ name: 'code-reviewer__run', input: { task: 'x' } }] }
const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const eventsOf = async (session: string): Promise<Answer[]> =>
  (await readSse(await call(`/api/sessions/${session}/events?follow=false`))).map(
    ({ data }) => data,
  )

describe('a chain of agents', () => {
  const review: UpstreamScript = (request) =>
    isReviewer(request) || answers(request) > 0 ? { text: 'done' } : callReviewer

  it('Y28: has one trace, and each link names the call that made it', async () => {
    withModel(review)
    const session = await newSession()
    const trace = 'c'.repeat(32)
    await callJson(`/api/sessions/${session}/runs`, {
      json: { task: 'go', wait: true },
      headers: { traceparent: `00-${trace}-${'d'.repeat(16)}-01` },
    })
    const [child] = (await callJson(`/api/sessions/${session}`)).children
    const above = await eventsOf(session)
    const below = await eventsOf(child.id)
    expect(new Set([...above, ...below].map((event) => event.trace))).toEqual(new Set([trace]))
    const invoked = above.find(({ type }) => type === 'agent_invoked')
    const result = above.find(({ type }) => type === 'agent_result')
    expect(invoked.data).toMatchObject({ agent: 'code-reviewer', session: child.id })
    expect(result.data).toMatchObject({ call: invoked.data.call, state: 'completed' })
    const started = below.find(({ type }) => type === 'run_started')
    expect(started.data).toMatchObject({ depth: 1, parentCall: invoked.data.call })
    expect(child.parent).toMatchObject({ session, call: invoked.data.call })
  })

  it('Y28: ends at its depth: a run that may have nothing below it starts nothing', async () => {
    const { requests } = withModel(review)
    const session = await newSession()
    const { state, pauses } = await callJson(`/api/sessions/${session}/runs`, {
      json: { task: 'go', wait: true, limits: { maxDepth: 0 } },
    })
    expect(state).toBe('parked')
    expect(pauses).toMatchObject([{ reached: { code: 'lease_depth', needed: 1 } }])
    expect(requests.filter(isReviewer)).toHaveLength(0)
    expect((await callJson(`/api/sessions/${session}`)).children).toEqual([])
  })

  it('Y28, Y27: ends at its time: a child has no more of it than its parent has left', async () => {
    const never = new Promise<never>(() => {})
    withModel((request) => (isReviewer(request) ? { text: 'x', wait: never } : callReviewer))
    const session = await newSession()
    const { state, pauses } = await callJson(`/api/sessions/${session}/runs`, {
      json: { task: 'go', wait: true, limits: { maxTimeMs: 1_500 } },
    })
    expect(state).toBe('parked')
    expect(pauses).toMatchObject([{ reached: { code: 'lease_time' } }])
    const [child] = (await callJson(`/api/sessions/${session}`)).children
    await vi.waitFor(async () => {
      const { runs } = await callJson(`/api/sessions/${child.id}`)
      expect(['stopped', 'cancelled']).toContain(runs[0].state)
    })
  })
})

describe('a long clean-up', () => {
  const batches = 6

  it('I23, I3: goes on at its last checkpoint after crashes, and does no batch twice', async () => {
    const { requests } = withModel((request) => {
      const done = answers(request)
      if (done === batches) return { text: `cleaned ${done} batches` }
      return {
        calls: [{ name: 'kv__set', input: { key: `batch-${done}`, value: `clean ${done}` } }],
        // Each batch takes a while: there is something to interrupt.
        wait: new Promise((resolve) => setTimeout(resolve, 40)),
      }
    })
    const session = await newSession()
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'clean' } })
    const path = `/api/sessions/${session}/runs/${run}`
    for (const reached of [2, 4]) {
      await vi.waitFor(() =>
        expect(Math.max(...requests.map(answers))).toBeGreaterThanOrEqual(reached),
      )
      await abortAllDurableObjects()
      await callJson(path) // wakes it; without, its alarm would
    }
    const view = await vi.waitFor(async () => {
      const found = await callJson(path)
      expect(found.state).toBe('completed')
      return found
    })
    expect(view.result.result).toBe(`cleaned ${batches} batches`)
    const types = await eventsOf(session)
    const finished = types.filter(({ type }) => type === 'tool_finished')
    expect(finished).toHaveLength(batches)
    expect(new Set(finished.map(({ data }) => data.call)).size).toBe(batches)
    expect(types.filter(({ type }) => type === 'run_resumed')).toHaveLength(2)
    expect(types.map(({ seq }) => seq)).toEqual(types.map((_event, index) => index + 1))
  })
})
