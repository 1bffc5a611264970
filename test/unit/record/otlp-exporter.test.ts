import { describe, expect, it } from 'vitest'
import { zeroUsage } from '#contracts/lease.ts'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'
import { createRedactor } from '../../../src/features/record/redactor.ts'
import { createContent } from '../../../src/features/record/telemetry/content.ts'
import {
  createOtlpExporter,
  type ExporterOptions,
} from '../../../src/features/record/telemetry/otlp-exporter.ts'
import { spansIn } from '../../fakes/collector.ts'
import { resultOf } from '../../fakes/http-deps.ts'
import { createFakeClock } from '../../fakes/kernel.ts'
import { sendOver } from '../../fakes/outbound.ts'

const trace = 'c0ffee00'.repeat(4)
const secret = 'sk-live-0123456789'

const answered = {
  provider: 'p',
  model: 'm',
  inputTokens: 10,
  outputTokens: 1,
  costNanoUsd: 0,
  priced: false,
  estimated: false,
  reservedTokens: 100,
  finishReason: 'stop',
  durationMs: 0,
}

function recordOf(text = 'ANSWER', turns = 1): RunRecord {
  return {
    run: 'run_1',
    session: 'ses_1',
    agent: 'tester',
    trace,
    startedAtMs: 1_790_000_000_000,
    final: resultOf({
      startedAtMs: 1_790_000_000_000,
      finishedAtMs: 1_790_000_000_100,
      result: text,
    }),
    content: {
      instructions: `You keep ${secret}.`,
      messages: [{ role: 'user', text: `TASK ${text}`, taint: ['user'] }],
    },
    turns: Array.from({ length: turns }, (_, index) => ({
      turn: index + 1,
      steps: [
        { type: 'message', message: text },
        { type: 'tool', callId: `call_${index}`, toolId: 'kv__set', input: { value: text } },
      ],
      calls: [
        {
          id: `call_${index}`,
          name: 'kv__set',
          tool: 'kv__set',
          input: { value: text },
          definitionHash: '',
          isRepeatable: true,
          startedAtMs: 1_790_000_000_050,
          outcome: { ok: true, output: { stored: text } },
          durationMs: 7,
        },
      ],
      modelCalls: [],
      usage: zeroUsage,
      isDone: true,
      events: [
        {
          seq: index + 1,
          run: 'run_1',
          agent: 'tester',
          trace,
          atMs: 1_790_000_000_050,
          type: 'model_called',
          data: { turn: index + 1, request: 1, ...answered },
        },
      ],
    })),
  }
}

interface Sent {
  readonly url: string
  readonly init: RequestInit
}

function setUp(
  answer: () => Response | Promise<Response> = () => Response.json({}),
  more: Partial<ExporterOptions> = {},
) {
  const sent: Sent[] = []
  const clock = createFakeClock()
  const exporter = createOtlpExporter({
    url: 'https://collector.example/v1/traces',
    headers: { authorization: 'Bearer x' },
    serviceName: 'isola',
    version: '1',
    redact: createRedactor([secret]),
    send: sendOver(async (url, init) => (sent.push({ url, init }), answer()), clock),
    ...more,
  })
  return { exporter, sent, clock }
}
const withContent = () => ({ content: createContent(createRedactor([secret])) })
const bodyOf = (sent: readonly Sent[]) => sent.map(({ init }) => String(init.body)).join('')

describe('the export of a run', () => {
  it('is a request that OTLP/HTTP describes, in its JSON', async () => {
    const { exporter, sent } = setUp()
    expect(await exporter.export(recordOf())).toEqual({ ok: true })
    const [{ url, init }] = sent as [Sent]
    expect(url).toBe('https://collector.example/v1/traces')
    expect(init).toMatchObject({ method: 'POST', redirect: 'manual' })
    expect(Object.fromEntries(new Headers(init.headers))).toEqual({
      authorization: 'Bearer x',
      'content-type': 'application/json',
    })
    const spans = spansIn(JSON.parse(String(init.body)))
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['invoke_agent tester', 1],
      ['turn 1', 1],
      ['chat m', 3],
      ['execute_tool kv__set', 1],
    ])
    expect(spans[3]).toMatchObject({
      traceId: trace,
      startTimeUnixNano: '1790000000050000000',
      endTimeUnixNano: '1790000000057000000',
      flags: 0x101,
      status: {},
    })
  })

  it('P29: has no message, argument or result by default', async () => {
    const { exporter, sent } = setUp()
    expect(exporter.capturesContent).toBe(false)
    await exporter.export(recordOf())
    expect(bodyOf(sent)).not.toMatch(/ANSWER|TASK|You keep/)
    expect(bodyOf(sent)).not.toMatch(/gen_ai\.(input|output|system|tool\.call\.(arg|res))/)
  })

  it('P29, I28: has them where they are captured, without the secrets that are in them', async () => {
    const { exporter, sent } = setUp(undefined, withContent())
    expect(exporter.capturesContent).toBe(true)
    await exporter.export(recordOf(`ANSWER ${secret}`, 2))
    expect(bodyOf(sent)).not.toContain(secret)
    const spans = spansIn(JSON.parse(bodyOf(sent)))
    const attributesOf = (name: string) => spans.findLast((span) => span.name === name)?.attributes
    const chat = attributesOf('chat m')
    expect(JSON.parse(String(chat?.['gen_ai.system_instructions']))).toEqual([
      { type: 'text', content: 'You keep [redacted].' },
    ])
    expect(JSON.parse(String(chat?.['gen_ai.input.messages']))).toMatchObject([
      { role: 'user', parts: [{ type: 'text', content: 'TASK ANSWER [redacted]' }] },
      { role: 'assistant', parts: [{ type: 'text' }, { type: 'tool_call', id: 'call_0' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_0' }] },
    ])
    expect(JSON.parse(String(chat?.['gen_ai.output.messages']))).toMatchObject([
      { role: 'assistant', finish_reason: 'stop' },
    ])
    expect(attributesOf('execute_tool kv__set')).toMatchObject({
      'gen_ai.tool.call.arguments': '{"value":"ANSWER [redacted]"}',
      'gen_ai.tool.call.result': '{"stored":"ANSWER [redacted]"}',
    })
    expect(attributesOf('invoke_agent tester')?.['gen_ai.output.messages']).toContain('ANSWER')
  })

  it('P29: caps each of them, and the oldest messages go first', async () => {
    const { exporter, sent } = setUp(undefined, withContent())
    const text = `${'x'.repeat(3_990)}${secret}`
    await exporter.export(recordOf(text, 8))
    expect(bodyOf(sent)).not.toContain(secret.slice(0, 10))
    for (const { attributes } of sent.flatMap(({ init }) => spansIn(JSON.parse(String(init.body)))))
      for (const value of Object.values(attributes))
        expect(String(value).length).toBeLessThan(16_100)
    const spans = spansIn(JSON.parse(String(sent.at(-1)?.init.body)))
    const last = spans.findLast(({ name }) => name === 'chat m')
    const messages = JSON.parse(String(last?.attributes['gen_ai.input.messages'])) as object[]
    expect(messages.length).toBeGreaterThan(0)
    expect(JSON.stringify(messages)).not.toContain('TASK')
  })

  it('F36: captures of a long run the newest 2,000,000 characters, and says of how many spans nothing', async () => {
    let read = 0
    const redact = createRedactor([secret])
    const content = createContent((text) => ((read += 1), redact(text)))
    const { exporter, sent } = setUp(undefined, { content })
    await exporter.export(recordOf('z'.repeat(5_000), 600))
    const spans = sent.flatMap(({ init }) => spansIn(JSON.parse(String(init.body))))
    const captured = spans.flatMap(({ attributes }) =>
      Object.entries(attributes).flatMap(([key, value]) =>
        /message|argument|result|instruction/.test(key) ? String(value) : [],
      ),
    )
    const chars = captured.reduce((sum, text) => sum + text.length, 0)
    expect(chars).toBeGreaterThan(1_900_000)
    expect(chars).toBeLessThanOrEqual(2_000_000)
    const without = spans.filter(
      ({ name, attributes }) =>
        !name.startsWith('turn') && !/messages|arguments/.test(Object.keys(attributes).join()),
    )
    expect(without.length).toBeGreaterThan(0)
    expect(spans[0]?.attributes['isola.trace.content_left_out']).toBe(String(without.length))
    expect(spans.at(-1)?.attributes['gen_ai.tool.call.result']).toContain('zzz')
    // The messages before a request are read back from the end, no further than they are exported.
    expect(read).toBeLessThan(600 * 10)
  })

  it('F36: makes no request before the one before it was taken', async () => {
    const looked: string[] = []
    const redact = (text: string) => (looked.push(text), text)
    const { exporter, sent } = setUp(() => new Response(null, { status: 503 }), { redact })
    const long = recordOf('ANSWER', 600)
    const turns = long.turns.map((turn) => ({
      ...turn,
      calls: turn.calls.map((one) => ({ ...one, tool: 't'.repeat(5_000) + one.id })),
    }))
    expect(await exporter.export({ ...long, turns })).toMatchObject({ ok: false })
    expect(sent).toHaveLength(1)
    expect(looked).toContain('turn 2')
    expect(looked).not.toContain('turn 600')
  })

  it('goes in several requests where one would be too large', async () => {
    const { exporter, sent } = setUp(undefined, withContent())
    await exporter.export(recordOf('y'.repeat(20_000), 40))
    expect(sent.length).toBeGreaterThan(1)
    const ids = sent.flatMap(({ init }) =>
      spansIn(JSON.parse(String(init.body))).map(({ spanId }) => spanId),
    )
    expect(new Set(ids).size).toBe(1 + 40 * 3)
    expect(ids).toHaveLength(1 + 40 * 3)
    for (const { init } of sent) expect(String(init.body).length).toBeLessThanOrEqual(1_000_000)
  })

  it.each([
    [400, true],
    [401, true],
    [302, true],
    [500, true],
    [429, false],
    [503, false],
  ])('tells a refusal with status %i, and whether it is final: %s', async (status, isFinal) => {
    const { exporter } = setUp(() => new Response(`no: ${secret}`, { status }))
    const message = `The collector answered ${status}.`
    expect(await exporter.export(recordOf())).toEqual({ ok: false, isFinal, message })
  })

  it('tells what was taken in part', async () => {
    const { exporter } = setUp(() => Response.json({ partialSuccess: { rejectedSpans: '3' } }))
    const message = 'The collector rejected 3 spans.'
    expect(await exporter.export(recordOf())).toEqual({ ok: false, isFinal: true, message })
  })

  it('never rejects, and says nothing of the address: not reached', async () => {
    const { exporter } = setUp(() => Promise.reject(new Error(`https://${secret}@a.example`)))
    const message = 'The collector cannot be reached.'
    expect(await exporter.export(recordOf())).toEqual({ ok: false, isFinal: false, message })
  })

  it('waits ten seconds for an answer, and no longer', async () => {
    const { exporter, sent, clock } = setUp(() => new Promise(() => {}))
    const exporting = exporter.export(recordOf())
    await clock.advance(9_999)
    expect(sent[0]?.init.signal?.aborted).toBe(false)
    await clock.advance(1)
    const message = 'The collector does not answer in time.'
    expect(await exporting).toEqual({ ok: false, isFinal: false, message })
    expect(sent[0]?.init.signal?.aborted).toBe(true)
  })
})
