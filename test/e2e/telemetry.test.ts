import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Answer } from '../fakes/client.ts'
import { startCollector, type ReceivedSpan } from '../fakes/collector.ts'
import { startModelServer, type ChatRequestBody, type Reply } from '../fakes/model-server.mjs'
import { freePort, reach, startServer, type RunningServer } from './server.ts'

const isChild = ({ messages }: ChatRequestBody) =>
  !JSON.stringify(messages[0]?.content).includes('Available tools')

const script = ({ messages, ...body }: ChatRequestBody): Reply => {
  const done = messages.filter(({ role }) => role === 'tool').length
  if (isChild({ messages, ...body }))
    return done === 0
      ? { toolCalls: [{ name: 'files__list', arguments: {} }] }
      : { text: 'FINDING: eval is unsafe.' }
  const review = { task: 'QUESTION', context: 'MATERIAL' }
  return done === 0
    ? { toolCalls: [{ name: 'code-reviewer__run', arguments: review }] }
    : { text: 'ANSWER' }
}

describe('traces of a running server, with a collector on loopback', () => {
  const state = mkdtempSync(join(tmpdir(), 'isola-otlp-'))
  let model: Awaited<ReturnType<typeof startModelServer>>
  let collector: Awaited<ReturnType<typeof startCollector>>
  let server: RunningServer
  let port = 0

  beforeAll(async () => {
    model = await startModelServer()
    model.script(({ body }) => script(body))
    collector = await startCollector()
    port = await freePort()
    server = await start()
  })
  const start = () =>
    startServer({
      state,
      port,
      env: {
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'sk-loopback',
        ISOLA_MODEL: 'openai/scripted',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-key',
        OTEL_SERVICE_NAME: 'isola-e2e',
      },
    })
  afterAll(async () => {
    await server?.stop()
    await model?.close()
    await collector?.close()
    rmSync(state, { recursive: true, force: true })
  })

  const api = async (path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const response = await reach(`${server.url}${path}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${server.key}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
  const runTask = async (headers: Record<string, string> = {}) => {
    const { id } = await api('/api/sessions', {})
    const view = await api(`/api/sessions/${id}/runs`, { task: 'TASK', wait: true }, headers)
    return view.result
  }
  const rootsOf = (spans: readonly ReceivedSpan[], trace: string) =>
    spans.filter(({ traceId, name }) => traceId === trace && name.startsWith('invoke_agent'))

  it('N7: a run with a sub-agent is one trace over both objects, and what the model saw is in it', async () => {
    const [trace, caller] = ['c0ffee00'.repeat(4), 'abcdef0123456789']
    const traceparent = `00-${trace}-${caller}-01`
    const from = model.requests.length
    const result = await runTask({ traceparent, tracestate: 'vendor=a' })
    expect(result).toMatchObject({ state: 'completed', result: 'ANSWER', trace })
    const spans = await vi.waitFor(
      () => {
        const found = collector.spans().filter(({ traceId }) => traceId === trace)
        expect(rootsOf(found, trace)).toHaveLength(2)
        return found
      },
      { timeout: 60_000, interval: 100 },
    )
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    expect(byId.size).toBe(spans.length)
    const pathOf = ({ name, parentSpanId = '' }: ReceivedSpan): string => {
      const parent = byId.get(parentSpanId)
      return parent ? `${pathOf(parent)} > ${name}` : name
    }
    const root = 'invoke_agent orchestrator'
    const call = `${root} > turn 1 > execute_tool code-reviewer__run`
    const child = `${call} > invoke_agent code-reviewer`
    const childModel = 'chat scripted'
    expect(spans.map(pathOf).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      [
        root,
        `${root} > turn 1`,
        `${root} > turn 1 > chat scripted`,
        call,
        child,
        `${child} > turn 1`,
        `${child} > turn 1 > ${childModel}`,
        `${child} > turn 1 > execute_tool files__list`,
        `${child} > turn 2`,
        `${child} > turn 2 > ${childModel}`,
        `${root} > turn 2`,
        `${root} > turn 2 > chat scripted`,
      ].toSorted((a, b) => (a < b ? -1 : 1)),
    )
    const top = spans.find(({ name }) => name === root)
    expect(top).toMatchObject({ parentSpanId: caller, flags: 0x301, kind: 1 })
    for (const span of spans) {
      const parent = byId.get(span.parentSpanId ?? '')
      if (!parent) continue
      expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(
        BigInt(parent.startTimeUnixNano),
      )
      // Two objects have two clocks, each as old as what it received last: the end of one is not compared with the other's.
      const [own, above] = [span, parent].map((one) => one.attributes['gen_ai.conversation.id'])
      if (own !== above) continue
      expect(BigInt(span.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(parent.endTimeUnixNano))
    }
    // What went out to the model is what came out at the collector.
    const sent = model.requests.slice(from).map(({ headers }) => headers)
    const chats = spans.filter(({ name }) => name.startsWith('chat '))
    expect(new Set(sent.map((headers) => headers['traceparent']))).toEqual(
      new Set(chats.map(({ spanId }) => `00-${trace}-${spanId}-01`)),
    )
    expect(sent).toHaveLength(chats.length)
    expect(new Set(sent.map((headers) => headers['tracestate']))).toEqual(new Set(['vendor=a']))
    expect(chats[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'isola.model.request': '1',
    })
    const requests = collector.received.filter(({ text }) => text.includes(trace))
    expect(requests).toHaveLength(2)
    for (const { path, headers } of requests) {
      expect(path).toBe('/v1/traces')
      expect(headers.authorization).toBe('Bearer collector-key')
    }
    // P29: this deployment does not export content.
    for (const { text } of requests)
      expect(text).not.toMatch(/TASK|QUESTION|MATERIAL|FINDING|ANSWER/)
  })

  it('exports nothing of a trace that its caller does not record, and goes on with it all the same', async () => {
    const trace = 'd00d0000'.repeat(4)
    const from = model.requests.length
    await runTask({ traceparent: `00-${trace}-abcdef0123456789-00` })
    const { trace: next } = await runTask()
    await vi.waitFor(() => expect(rootsOf(collector.spans(), next)).toHaveLength(2), {
      timeout: 60_000,
      interval: 100,
    })
    expect(collector.spans().filter(({ traceId }) => traceId === trace)).toEqual([])
    const sent = model.requests.slice(from, from + 4)
    for (const { headers } of sent)
      expect(headers['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`))
  })

  it('C7: metrics of the same runs are at the operator route, in JSON and for Prometheus', async () => {
    const metrics = await vi.waitFor(
      async () => {
        const answer = await api('/api/operator/metrics')
        const names = answer.agents.map(({ agent }: { readonly agent: string }) => agent)
        expect(names).toEqual(['code-reviewer', 'orchestrator'])
        return answer
      },
      { timeout: 60_000, interval: 200 },
    )
    for (const agent of metrics.agents)
      expect(agent).toMatchObject({
        successRate: 1,
        turnsPerRun: 2,
        states: { completed: agent.runs },
      })
    expect(metrics.tools.map(({ tool }: { readonly tool: string }) => tool)).toEqual([
      'code-reviewer__run',
      'files__list',
    ])
    const response = await fetch(`${server.url}/api/operator/metrics`, {
      headers: { authorization: `Bearer ${server.key}`, accept: 'text/plain' },
    })
    expect(await response.text()).toMatch(/^isola_turns_per_run\{agent="orchestrator"\} 2$/m)
  })

  it('a collector that refuses for good, or never answers, changes nothing for the run', async () => {
    collector.behave(401)
    expect(await runTask()).toMatchObject({ state: 'completed', result: 'ANSWER' })
    const health = await vi.waitFor(
      async () => {
        const answer = await api('/api/operator/health')
        expect(answer.incidents.counts).toHaveProperty('telemetry_failed')
        return answer
      },
      { timeout: 60_000, interval: 200 },
    )
    const told = health.incidents.newest.find(
      ({ kind }: { readonly kind: string }) => kind === 'telemetry_failed',
    )
    expect(told.message).toBe('The trace of a run was dropped. The collector answered 401.')
    collector.behave('hang')
    const from = collector.received.length
    expect(await runTask()).toMatchObject({ state: 'completed', result: 'ANSWER' })
    expect(await runTask()).toMatchObject({ state: 'completed', result: 'ANSWER' })
    await vi.waitFor(() => expect(collector.received.length).toBeGreaterThan(from), {
      timeout: 60_000,
    })
  })

  it('I3: a trace outlives a killed process: spans not yet exported, and a run cut in the middle', async () => {
    collector.behave('hang')
    const { trace: done } = await runTask()
    const bodiesOf = (trace: string) =>
      collector.received.map(({ text }) => text).filter((text) => text.includes(trace))
    await vi.waitFor(() => expect(new Set(bodiesOf(done)).size).toBe(2), { timeout: 60_000 })
    const first = new Set(bodiesOf(done))
    const cut = 'feedbeef'.repeat(4)
    const cutHeaders = () =>
      model.requests.flatMap(({ headers: { traceparent } }) =>
        String(traceparent).includes(cut) ? [String(traceparent).split('-')[2]] : [],
      )
    model.script(({ body }) => ({ ...script(body), delayMs: 60_000 }))
    const { id } = await api('/api/sessions', {})
    const traceparent = `00-${cut}-abcdef0123456789-01`
    await api(`/api/sessions/${id}/runs`, { task: 'TASK' }, { traceparent })
    await vi.waitFor(() => expect(cutHeaders()).toHaveLength(1), { timeout: 60_000 })
    await server.kill()
    const tries = bodiesOf(done).length
    model.script(({ body }) => script(body))
    collector.behave(200)
    server = await start()
    await vi.waitFor(
      () => {
        expect(bodiesOf(done).length).toBeGreaterThanOrEqual(tries + 2)
        expect(rootsOf(collector.spans(), cut)).toHaveLength(2)
      },
      { timeout: 60_000, interval: 200 },
    )
    // Both sessions of the tree sent the same bytes again.
    expect(new Set(bodiesOf(done))).toEqual(first)
    const spans = collector.spans().filter(({ traceId }) => traceId === cut)
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    // The request that was cut is on the record too: each that was sent has its span.
    const sent = cutHeaders()
    const chats = spans.filter(({ name }) => name.startsWith('chat ')).map(({ spanId }) => spanId)
    expect(new Set(sent)).toEqual(new Set(chats))
    const resumed = spans.flatMap(({ events }) => events.map(({ name }) => name))
    expect(resumed).toContain('isola.run_resumed')
  })
})
