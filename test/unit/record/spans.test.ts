import { describe, expect, it } from 'vitest'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'
import { spanIdOf } from '#contracts/trace.ts'
import type { ModelProvider } from '#contracts/model.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { RunPorts } from '#runtime/kernel/types/kernel.ts'
import { noContent } from '../../../src/features/record/telemetry/content.ts'
import type { Span } from '../../../src/features/record/telemetry/span.ts'
import { toSpans } from '../../../src/features/record/telemetry/spans.ts'
import {
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  toolEntry,
  toolsetOf,
  type Line,
  type MemoryJournal,
} from '../../fakes/kernel.ts'
import { dataOf, storedEvent } from '../../fakes/events.ts'

const trace = 'c0ffee00'.repeat(4)
const call = (name: string, input: JsonObject = {}) => ({ calls: [{ name, input }] })

/** The first line is refused by the first model; a second one takes over. */
function withFallback(lines: readonly Line[]): ModelProvider {
  const model = createFakeModel(lines)
  let isFirst = true
  return {
    ...model,
    select: () => ({ provider: 'one', model: 'small', substituted: false }),
    async generate(request, options) {
      if (isFirst) {
        isFirst = false
        options.onSent()
        const selection = { provider: 'two', model: 'large', substituted: true }
        const failure = new IsolaError('model_unavailable', 'The SECRET server is away.')
        options.mayRetry(failure, { selection, estimate: model.estimate(request) })
      }
      const reply = await model.generate(request, options)
      return { ...reply, provider: 'two', model: 'large-2026' }
    },
  }
}

async function runOf(
  models: ModelProvider,
  options: { readonly journal?: MemoryJournal; readonly ports?: Partial<RunPorts> } = {},
): Promise<RunRecord> {
  const { journal = createMemoryJournal() } = options
  const record = { plugin: 'demo', version: '1.0.0', tier: 'builtin' } as const
  const toolset = toolsetOf([
    toolEntry('kv__get', async () => ({ ok: true, output: 'RESULT' }), { record }),
    toolEntry('web__get', async (_input, { call: id, emit }) => {
      const data = { host: 'a.example', method: 'GET', status: 503 }
      emit({ type: 'network_requested', data })
      emit({ type: 'tool_log', data: { call: id, message: 'LOGGED' } })
      return { ok: false, error: { code: 'tool_failed', message: 'FAILED' } }
    }),
    toolEntry('rev__run', async (_input, { call: id, emit }) => {
      emit({ type: 'agent_invoked', data: { call: id, agent: 'rev', session: 'ses_child' } })
      return { ok: true, output: 'REVIEW' }
    }),
  ])
  let seq = 0
  const final = await createEndingKernel(createKernelParts(models)).run(
    runInput({ trace, toolset }),
    runPorts({ journal, nextSeq: () => (seq += 1), ...options.ports }),
  )
  const turns = journal.load()
  return {
    run: 'run_1',
    session: 'ses_1',
    agent: 'tester',
    trace,
    startedAtMs: 1_000_000,
    turns,
    final,
  }
}

const spansOf = (run: RunRecord) => toSpans(run, { content: noContent })

const treeOf = (spans: readonly Span[]): readonly string[] => {
  const byId = new Map(spans.map((span) => [span.id, span]))
  const pathOf = ({ name, parent = '' }: Span): string => {
    const above = byId.get(parent)
    return above ? `${pathOf(above)} > ${name}` : name
  }
  return spans.map(pathOf)
}

const lines: readonly Line[] = [
  call('kv__get', { key: 'ARGUMENT' }),
  { calls: [{ name: 'web__get' }, { name: 'rev__run', input: { task: 'ARGUMENT' } }] },
  { text: 'ANSWER' },
]

describe('the spans of a run', () => {
  it('N7: are a tree of run, turns, model requests and calls, the failed request included', async () => {
    const spans = spansOf(await runOf(withFallback(lines)))
    expect(treeOf(spans)).toEqual([
      'invoke_agent tester',
      'invoke_agent tester > turn 1',
      'invoke_agent tester > turn 1 > chat small',
      'invoke_agent tester > turn 1 > chat large',
      'invoke_agent tester > turn 1 > execute_tool kv__get',
      'invoke_agent tester > turn 2',
      'invoke_agent tester > turn 2 > chat small',
      'invoke_agent tester > turn 2 > execute_tool web__get',
      'invoke_agent tester > turn 2 > execute_tool rev__run',
      'invoke_agent tester > turn 3',
      'invoke_agent tester > turn 3 > chat small',
    ])
    expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length)
  })

  it('N7: say in the words of the GenAI conventions what was asked, what answered and what it took', async () => {
    const spans = spansOf(await runOf(withFallback(lines)))
    const of = (name: string) => spans.find((span) => span.name === name)
    const common = {
      'gen_ai.conversation.id': 'ses_1',
      'gen_ai.agent.id': 'tester',
      'gen_ai.agent.name': 'tester',
      'isola.run.id': 'run_1',
    }
    expect(of('invoke_agent tester')).toMatchObject({
      kind: 'internal',
      attributes: {
        ...common,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.usage.input_tokens': 300,
        'gen_ai.usage.output_tokens': 30,
        'gen_ai.response.finish_reasons': ['stop'],
        'isola.run.turns': 3,
      },
    })
    expect(of('chat small')).toMatchObject({
      kind: 'client',
      error: 'model_unavailable',
      attributes: { ...common, 'gen_ai.provider.name': 'one', 'isola.lease.booked_tokens': 0 },
    })
    expect(of('chat large')).toMatchObject({
      kind: 'client',
      error: undefined,
      attributes: {
        ...common,
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'two',
        'gen_ai.request.model': 'large',
        'gen_ai.response.model': 'large-2026',
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 10,
        'gen_ai.response.finish_reasons': ['tool_calls'],
        'isola.model.request': 2,
        'isola.model.substituted_for': 'default',
        'isola.lease.reserved_tokens': 150,
        'isola.usage.cost_usd': { double: 0 },
      },
    })
    expect(of('execute_tool kv__get')).toMatchObject({
      kind: 'internal',
      error: undefined,
      attributes: {
        ...common,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'kv__get',
        'gen_ai.tool.type': 'function',
        'isola.tool.input_chars': 18,
        'isola.tool.output_chars': 8,
        'isola.plugin.id': 'demo',
        'isola.plugin.tier': 'builtin',
      },
    })
    expect(of('execute_tool web__get')).toMatchObject({
      error: 'tool_failed',
      events: [
        {
          name: 'isola.network_requested',
          attributes: { 'server.address': 'a.example', 'http.response.status_code': 503 },
        },
      ],
    })
    expect(of('execute_tool rev__run')?.attributes['isola.child.session']).toBe('ses_child')
  })

  it('P29: hold no message, argument, result, log line or error text unless that is asked for', async () => {
    const spans = spansOf(await runOf(withFallback(lines)))
    expect(JSON.stringify(spans)).not.toMatch(
      /ARGUMENT|RESULT|ANSWER|FAILED|LOGGED|REVIEW|SECRET|go"/,
    )
  })

  it('N7: hang below the call that asked for them, or below the sender’s span', async () => {
    const run = await runOf(createFakeModel([{ text: 'ANSWER' }]))
    const link = { span: 'abcdef0123456789', isSampled: true }
    expect(spansOf(run)[0]).toMatchObject({ parent: undefined, isParentRemote: false })
    expect(spansOf({ ...run, link })[0]).toMatchObject({ parent: link.span, isParentRemote: true })
    const parent = { run: 'run_0', call: 'call_1' }
    expect(spansOf({ ...run, link, parent })[0]).toMatchObject({
      parent: spanIdOf('run_0', 'call_1'),
      isParentRemote: false,
    })
  })

  it('I3: are the same after a crash for what was done before it, and none of them is there twice', async () => {
    const whole = await runOf(createFakeModel(lines))
    const journal = createMemoryJournal(whole.turns.slice(0, 1))
    const resumed = await runOf(createFakeModel(lines.slice(1)), { journal })
    const [before, after] = [spansOf(whole), spansOf(resumed)]
    const first = (spans: readonly Span[]) => spans.slice(1, 4)
    expect(first(after)).toEqual(first(before))
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(new Set(after.map(({ id }) => id)).size).toBe(after.length)
  })

  it('have ids of their own where the requests of a turn have no numbers yet', async () => {
    const run = await runOf(withFallback(lines))
    const turns = run.turns.map((turn) => ({
      ...turn,
      events: turn.events.map((event) => {
        const { request: _request, ...data } = dataOf(event)
        return storedEvent({ ...event, data })
      }),
    }))
    const spans = spansOf({ ...run, turns })
    expect(spans).toHaveLength(11)
    expect(new Set(spans.map(({ id }) => id)).size).toBe(11)
    expect(spansOf({ ...run, turns }).map(({ id }) => id)).toEqual(spans.map(({ id }) => id))
  })

  it('F36: of a long run are the newest 2,000, a tree still, and the run says how many there were', async () => {
    const run = await runOf(createFakeModel(lines))
    const [, turn] = run.turns
    const turns = Array.from({ length: 1_000 }, (_, at) => ({
      ...turn!,
      turn: at + 1,
      calls: turn!.calls.map((one) => ({ ...one, id: `${one.id}_${at}` })),
      events: turn!.events.map((event) =>
        storedEvent({ ...event, data: { ...event.data, turn: at + 1 } }),
      ),
    }))
    const spans = spansOf({ ...run, turns })
    const ids = new Set(spans.map(({ id }) => id))
    expect(ids.size).toBe(2_000)
    expect(spans[0]?.attributes['isola.trace.spans_left_out']).toBe(1_000 * 4 - 1_999)
    expect(spans.slice(1).every(({ parent }) => ids.has(parent!))).toBe(true)
    expect(spans.map(({ name }) => name)).toContain('turn 1000')
    expect(spans.map(({ name }) => name)).not.toContain('turn 500')
    expect(spansOf(run)[0]?.attributes['isola.trace.spans_left_out']).toBeUndefined()
  })

  it('F36: of one turn with more calls than that are its newest, and of their events the newest 128', async () => {
    const run = await runOf(createFakeModel(lines))
    const [, turn] = run.turns
    const [first] = turn!.calls
    const calls = Array.from({ length: 3_000 }, (_, at) => ({ ...first!, id: `call_${at}` }))
    const request = turn!.events.find(({ type }) => type === 'network_requested')!
    const events = Array.from({ length: 200 }, (_, at) => {
      return storedEvent({ ...request, atMs: at, data: { ...request.data, call: 'call_2999' } })
    })
    const spans = spansOf({ ...run, turns: [{ ...turn!, calls, events }] })
    expect(spans).toHaveLength(2_000)
    expect(spans[0]?.attributes['isola.trace.spans_left_out']).toBe(3_002 - 2_000)
    expect(spans.at(-1)?.events).toHaveLength(128)
    expect(spans.at(-1)?.events[0]?.attributes).toEqual({ 'isola.events_left_out': 73 })
    expect(spans.at(-1)?.events[1]?.atMs).toBe(73)
  })

  it('a run that fails, and one that was cancelled within a call, say so', async () => {
    const failure = new IsolaError('model_auth', 'The key is wrong.')
    const failed = spansOf(await runOf(createFakeModel([{ error: failure }])))
    expect(failed.map(({ error }) => error)).toEqual(['model_auth', undefined, 'model_auth'])
    const run = await runOf(createFakeModel(lines))
    const turns = run.turns.map((turn) => ({
      ...turn,
      calls: turn.calls.map(({ outcome: _outcome, ...rest }) => rest),
    }))
    const cut = spansOf({ ...run, turns }).find(({ name }) => name === 'execute_tool kv__get')
    expect(cut?.error).toBe('tool_outcome_unknown')
  })
})
