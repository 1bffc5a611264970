import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ModelProvider } from '#contracts/model.ts'
import {
  agentSpec,
  createFakeClock,
  createFakeModel,
  createFakeSources,
  createEndingKernel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'
import { dataOf } from '../../fakes/events.ts'

const callOf = (name: string, input = {}) => ({ calls: [{ name, input }] })

describe('a run', () => {
  it('I3: plans, acts and reflects until the planner finishes', async () => {
    const model = createFakeModel([callOf('clock'), { text: 'It is noon.' }])
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts(),
    )
    expect(result).toMatchObject({
      success: true,
      state: 'completed',
      result: 'It is noon.',
      steps: 2,
    })
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      output: '12:00',
      isError: false,
    })
  })

  it('N7: asks for the headers of each model request by turn and place, and has both on record', async () => {
    const asked: (readonly [number, number])[] = []
    const model = createFakeModel([{ text: 'never' }])
    const models: ModelProvider = {
      ...model,
      async generate(request, call) {
        call.headers?.()
        call.onSent()
        if (asked.length === 1) {
          call.mayRetry(new IsolaError('model_unavailable', 'away'))
          call.headers?.()
        }
        return createFakeModel([asked.length > 2 ? { text: 'noon' } : callOf('clock')]).generate(
          request,
          call,
        )
      },
    }
    const journal = createMemoryJournal()
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    await createEndingKernel(createKernelParts(models)).run(
      runInput({ toolset, lostCalls: 1 }),
      runPorts({
        journal,
        headersOf: (turn, request) => (asked.push([turn, request]), {}),
      }),
    )
    // Request 1 was sent before the crash: its number is not given to another.
    const places = [
      [1, 2],
      [1, 3],
      [2, 1],
    ]
    expect(asked).toEqual(places)
    const events = journal.load().flatMap((turn) => turn.events)
    const requests = events.filter(({ type }) => /^model_(called|failed)$/.test(type))
    const told = requests.map(dataOf).map(({ turn, request }) => [turn, request])
    expect(told).toEqual([[1, 1], ...places])
    expect(requests[2]?.data).toMatchObject({ durationMs: 0 })
    expect(requests[3]?.data).toMatchObject({ firstTextMs: 0 })
  })

  it('holds only the first model call to a tool, and tells each what may be spent', async () => {
    const model = createFakeModel([callOf('clock'), { text: 'noon' }])
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const parameters = { temperature: 0, toolChoice: { tool: 'clock' } } as const
    const agent = agentSpec({ maxCostNanoUsd: 5_000 }, { parameters })
    await createEndingKernel(createKernelParts(model)).run(runInput({ toolset, agent }), runPorts())
    expect(model.requests.map((request) => request.parameters)).toEqual([
      parameters,
      { temperature: 0 },
    ])
    expect(model.requests[0]?.maxCostNanoUsd).toBe(5_000)
  })

  it('C1, I17: reports id, times, steps, actions, model calls, token usage, cost and provenance', async () => {
    const model = createFakeModel([callOf('clock'), { text: 'noon' }])
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts(),
    )
    expect(result).toMatchObject({
      id: 'run_1',
      sessionId: 'ses_1',
      steps: 2,
      actions: [{ tool: 'clock', ok: true }],
      modelCalls: [{ provider: 'fake' }, { provider: 'fake' }],
      usage: { tokens: 220, inputTokens: 200, outputTokens: 20, turns: 2, toolCalls: 1 },
      costEstimateUsd: 0,
      provenance: { template: 'tester', version: '1', models: ['fake/fake'] },
    })
    expect(result.finishedAtMs).toBeGreaterThanOrEqual(result.startedAtMs)
  })

  it('reports parallel calls in source order, whichever finishes first', async () => {
    const slow = Promise.withResolvers<void>()
    const model = createFakeModel([
      { calls: [{ name: 'slow' }, { name: 'fast' }] },
      { text: 'done' },
    ])
    const toolset = toolsetOf([
      toolEntry('slow', async () => (await slow.promise, says('slow'))),
      toolEntry('fast', async () => (slow.resolve(), says('fast'))),
    ])
    const journal = createMemoryJournal()
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts({ journal }),
    )
    expect(result.actions.map(({ tool }) => tool)).toEqual(['slow', 'fast'])
    const finished = journal.rows.get(1)?.events.filter(({ type }) => type === 'tool_finished')
    expect(finished?.map((event) => dataOf(event)['tool'])).toEqual(['slow', 'fast'])
    expect(model.requests[1]?.messages.slice(-2).map((m) => m.role === 'tool' && m.output)).toEqual(
      ['slow', 'fast'],
    )
  })

  it('I16: writes one row a turn, numbered events without gaps, and the end in the last row', async () => {
    const model = createFakeModel([callOf('clock'), { text: 'noon' }])
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const journal = createMemoryJournal()
    await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts({ journal }),
    )
    expect(journal.writes).toHaveLength(2)
    const events = [...journal.rows.values()].flatMap((turn) => turn.events)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.map(({ type }) => type)).toEqual([
      'model_called',
      'tool_started',
      'tool_finished',
      'model_called',
      'message_finished',
      'run_finished',
    ])
    expect(events.at(-1)?.data).toStrictEqual({ state: 'completed', turns: 2 })
    expect(journal.rows.get(2)?.final?.state).toBe('completed')
    // What there was none of is not in the row.
    for (const name of ['received', 'compactions', 'share', 'pause', 'final'])
      expect(journal.rows.get(1)).not.toHaveProperty(name)
  })

  it('I15: is cancelled by its signal with exactly one terminal outcome', async () => {
    const controller = new AbortController()
    const model = createFakeModel([callOf('wait')])
    const toolset = toolsetOf([
      toolEntry('wait', (_input, { signal }) => {
        queueMicrotask(() => controller.abort(new Error('user said stop')))
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve(says('stopped'))),
        )
      }),
    ])
    const journal = createMemoryJournal()
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts({ journal, signal: controller.signal }),
    )
    expect(result).toMatchObject({
      success: false,
      state: 'cancelled',
      error: { message: 'user said stop' },
    })
    const events = [...journal.rows.values()].flatMap((turn) => turn.events)
    expect(events.filter(({ type }) => type === 'run_finished')).toHaveLength(1)
  })

  it('I30: fails with the code of the model family when the model fails', async () => {
    const model = createFakeModel([
      { error: new IsolaError('model_auth', 'The provider refused the key.') },
    ])
    const result = await createEndingKernel(createKernelParts(model)).run(runInput(), runPorts())
    expect(result).toMatchObject({
      state: 'failed',
      error: { code: 'model_auth' },
      usage: { tokens: 0 },
    })
  })

  it('I30: hides the text of an internal fault', async () => {
    const model = createFakeModel([{ error: new Error('secret path') }])
    const ports = runPorts()
    const result = await createEndingKernel(createKernelParts(model)).run(runInput(), ports)
    expect(result).toMatchObject({ state: 'failed', error: { code: 'internal' } })
    expect(JSON.stringify(result)).not.toContain('secret')
    // The record has the reason in full.
    expect(ports.journal.load()[0]?.events.at(-1)).toMatchObject({
      type: 'run_finished',
      data: { state: 'failed', turns: 0, ...result.error, detail: 'secret path' },
    })
  })

  it('says when the answer was cut for length', async () => {
    const model = createFakeModel([{ text: 'cut off he' }])
    const cut = {
      ...model,
      generate: async (...args: Parameters<typeof model.generate>) => ({
        ...(await model.generate(...args)),
        finishReason: 'length' as const,
      }),
    }
    const result = await createEndingKernel(createKernelParts(cut)).run(runInput(), runPorts())
    expect(result).toMatchObject({ state: 'completed', finishReason: 'length' })
  })

  it('I30, N7: puts a model call that failed on the record, with what was booked for it', async () => {
    const journal = createMemoryJournal()
    const model = createFakeModel([{ error: new IsolaError('model_network', 'It broke.') }])
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput(),
      runPorts({ journal }),
    )
    const failed = journal.rows.get(1)?.events.find(({ type }) => type === 'model_failed')
    expect(failed?.data).toMatchObject({ code: 'model_network', bookedTokens: 150 })
    expect(result.usage).toMatchObject({ tokens: 150, modelCalls: 1 })
  })

  it('makes the first 64 calls of a turn that asks for more, and goes on', async () => {
    let ran = 0
    const toolset = toolsetOf([toolEntry('clock', async () => ((ran += 1), says('12:00')))])
    const calls = Array.from({ length: 200 }, () => ({ name: 'clock' }))
    const model = createFakeModel([{ calls }, { text: 'noon' }])
    const agent = agentSpec({ maxToolCalls: 500 })
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset, agent }),
      runPorts(),
    )
    expect(ran).toBe(64)
    expect(result.state).toBe('completed')
  })

  it('I18: refuses a plan that finishes and calls in the same turn', async () => {
    const parts = createKernelParts(createFakeModel([]), {
      planner: {
        plan: async () => [
          { type: 'finish', message: 'done' },
          { type: 'tool', callId: 'x', toolId: 'clock', input: {} },
        ],
      },
    })
    const result = await createEndingKernel(parts).run(runInput(), runPorts())
    expect(result.error?.code).toBe('model_invalid_reply')
  })

  it('I4, I13: works with any planner and reflector that keep the contract', async () => {
    const parts = createKernelParts(createFakeModel([]), {
      planner: { plan: async ({ turn }) => [{ type: 'internal', reason: `thinking ${turn}` }] },
      reflector: {
        reflect: async ({ turn }) =>
          turn < 3 ? { decision: 'continue' } : { decision: 'finish', result: 'ok' },
      },
    })
    const result = await createEndingKernel(parts).run(runInput(), runPorts())
    expect(result).toMatchObject({ state: 'completed', result: 'ok', usage: { turns: 3 } })
  })

  it('I14: works with any executor: one after the other, twice or not at all, each call has one outcome', async () => {
    const ran: string[] = []
    const unknown: unknown[] = []
    const toolset = toolsetOf(
      ['a', 'b', 'c'].map((name) => toolEntry(name, async () => (ran.push(name), says(name)))),
    )
    const model = createFakeModel([
      { calls: ['a', 'b', 'c'].map((name) => ({ name })) },
      { text: 'done' },
    ])
    const parts = createKernelParts(model, {
      executor: {
        async execute([first, second], { pass }) {
          unknown.push(await pass({ ...first!, callId: 'nobody' }))
          await pass(second!)
          await Promise.all([pass(first!), pass(first!)])
          throw new Error('and then it broke')
        },
      },
    })
    const result = await createEndingKernel(parts).run(runInput({ toolset }), runPorts())
    expect(ran).toEqual(['b', 'a'])
    expect(unknown).toMatchObject([
      { callId: 'nobody', result: { error: { code: 'tool_not_found', message: 'No such call.' } } },
    ])
    expect(result.actions.map(({ tool, ok }) => [tool, ok])).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
    ])
    expect(result.state).toBe('completed')
  })

  it('streams text as it arrives, with its place in the message', async () => {
    const ports = runPorts()
    await createEndingKernel(createKernelParts(createFakeModel([{ text: 'Hello' }]))).run(
      runInput(),
      ports,
    )
    expect(ports.deltas).toEqual([
      { type: 'message_delta', run: 'run_1', turn: 1, offset: 0, text: 'Hello' },
    ])
  })
})

describe('limits of a run', () => {
  it('E1: gives a call the same share whether or not the model says something beside it', async () => {
    const leases: Limits[] = []
    const child = toolEntry(
      'child',
      async (_input, { lease }) => (leases.push(lease), says('ok')),
      {
        spends: agentSpec().limits,
      },
    )
    for (const text of ['', 'I ask somebody.']) {
      const model = createFakeModel([{ text, ...callOf('child') }, { text: 'done' }])
      await createEndingKernel(createKernelParts(model)).run(
        runInput({ toolset: toolsetOf([child]) }),
        runPorts(),
      )
    }
    expect(leases).toHaveLength(2)
    expect(leases[1]).toEqual(leases[0])
  })

  it('Y13: stops at max_turns and keeps what was said', async () => {
    const model = createFakeModel(() => ({ text: 'thinking', calls: [{ name: 'clock' }] }))
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const agent = agentSpec({ maxTurns: 3 })
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset, agent }),
      runPorts(),
    )
    expect(result).toMatchObject({
      state: 'stopped',
      error: { code: 'lease_turns' },
      usage: { turns: 3 },
    })
    expect(result.result).toContain('thinking')
  })

  it('N6: refuses a model call that does not fit what is left, before it is made', async () => {
    const model = createFakeModel([{ text: 'never' }])
    const agent = agentSpec({ maxTokens: 149 })
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ agent }),
      runPorts(),
    )
    expect(result).toMatchObject({ state: 'stopped', error: { code: 'lease_tokens' } })
    expect(model.requests).toHaveLength(0)
  })

  it('lets the other calls of a turn settle when one is refused a lease, then stops', async () => {
    const model = createFakeModel([
      { calls: [{ name: 'clock' }, { name: 'clock' }, { name: 'clock' }] },
    ])
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const agent = agentSpec({ maxToolCalls: 2 })
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset, agent }),
      runPorts(),
    )
    expect(result).toMatchObject({
      state: 'stopped',
      error: { code: 'lease_tool_calls' },
      usage: { toolCalls: 2 },
    })
    expect(result.actions.map(({ ok }) => ok)).toEqual([true, true, false])
  })

  it('Y13: stops when its active time is used up', async () => {
    const clock = createFakeClock()
    const model = createFakeModel([{ wait: new Promise(() => {}) }])
    const parts = createKernelParts(
      {
        ...model,
        generate: (_request, { signal, onSent }) =>
          new Promise((_resolve, reject) => {
            onSent()
            signal.addEventListener('abort', () => reject(signal.reason))
          }),
      },
      createFakeSources(clock),
    )
    const running = createEndingKernel(parts).run(
      runInput({ agent: agentSpec({ maxTimeMs: 5_000 }) }),
      runPorts(),
    )
    await clock.advance(10)
    await clock.advance(5_000)
    expect(await running).toMatchObject({ state: 'stopped', error: { code: 'lease_time' } })
  })

  it('books an overrun and gives nothing more', async () => {
    const model = createFakeModel([
      { calls: [{ name: 'clock' }], inputTokens: 400 },
      { text: 'never' },
    ])
    const toolset = toolsetOf([toolEntry('clock', async () => says('12:00'))])
    const journal = createMemoryJournal()
    const agent = agentSpec({ maxTokens: 450 })
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset, agent }),
      runPorts({ journal }),
    )
    expect(result).toMatchObject({
      state: 'stopped',
      error: { code: 'lease_tokens' },
      usage: { tokens: 410 },
    })
    expect(journal.rows.get(1)?.events.map(({ type }) => type)).toContain('lease_overdrawn')
  })
})

describe('resuming from the journal', () => {
  const cutAfter = async (options: {
    isReadOnly: boolean
    stopAfter: number
    calls?: readonly string[]
  }) => {
    const clock = createFakeClock()
    const runs: string[] = []
    const hang = new Promise<never>(() => {})
    const tools = (isSecondLife: boolean) =>
      toolsetOf([
        toolEntry('done', async () => (runs.push('done'), says('done'))),
        toolEntry('cut', async () => (runs.push('cut'), isSecondLife ? says('cut') : hang), {
          isReadOnly: options.isReadOnly,
        }),
      ])
    const journal = createMemoryJournal()
    const { calls = ['done', 'cut'] } = options
    const model = createFakeModel([{ calls: calls.map((name) => ({ name })) }])
    const parts = createKernelParts(model, createFakeSources(clock))
    void createEndingKernel(parts).run(runInput({ toolset: tools(false) }), runPorts({ journal }))
    await clock.advance(10)
    await clock.advance(options.stopAfter)
    const rows = structuredClone(journal.rows)
    const second = createMemoryJournal([...rows.values()])
    const again = createFakeModel([{ text: 'finished' }])
    let seq = Math.max(
      0,
      ...[...rows.values()].flatMap((turn) => turn.events.map((event) => event.seq)),
    )
    const result = await createEndingKernel(createKernelParts(again)).run(
      runInput({ toolset: tools(true), lostCalls: rows.size === 0 ? 1 : 0 }),
      runPorts({ journal: second, nextSeq: () => (seq += 1) }),
    )
    return { result, runs, journal: second, again }
  }

  it('I3: goes on in the middle of a turn: finished calls are not repeated, a repeatable cut call runs again', async () => {
    const { result, runs, journal } = await cutAfter({ isReadOnly: true, stopAfter: 300 })
    expect(result).toMatchObject({ state: 'completed', result: 'finished' })
    expect(runs).toEqual(['done', 'cut', 'cut'])
    const events = [...journal.rows.values()].flatMap((turn: TurnRecord) => turn.events)
    expect(
      events.filter(({ type }) => type === 'tool_finished').map((event) => dataOf(event)['tool']),
    ).toEqual(['done', 'cut'])
    expect(events.map(({ type }) => type)).toContain('run_resumed')
  })

  it('I3, N7: tells, in its place, the end of a call that had finished after one that was cut', async () => {
    const calls = ['cut', 'done']
    const { runs, journal } = await cutAfter({ isReadOnly: true, stopAfter: 300, calls })
    expect(runs).toEqual(['cut', 'done', 'cut'])
    const events = journal.load().flatMap((turn) => turn.events)
    expect(
      events
        .filter(({ type }) => type === 'tool_finished')
        .map(dataOf)
        .map(({ tool, ok }) => [tool, ok]),
    ).toEqual([
      ['cut', true],
      ['done', true],
    ])
  })

  it('reports a cut call that may not be repeated as unknown, and does not run it again', async () => {
    const { result, runs, again } = await cutAfter({ isReadOnly: false, stopAfter: 300 })
    expect(runs).toEqual(['done', 'cut'])
    expect(result.actions.find(({ tool }) => tool === 'cut')).toMatchObject({
      ok: false,
      code: 'tool_outcome_unknown',
    })
    expect(again.requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', isError: true })
  })

  it('writes the intent before an effect that may not be repeated', async () => {
    const order: string[] = []
    const journal = createMemoryJournal()
    const toolset = toolsetOf([
      toolEntry('mail', async () => (order.push('effect'), says('sent')), { isReadOnly: false }),
    ])
    const ports = runPorts({
      journal: {
        ...journal,
        write: (turn) => (order.push(turn.isDone ? 'done' : 'intent'), journal.write(turn)),
        sync: async () => void order.push('sync'),
      },
    })
    await createEndingKernel(
      createKernelParts(createFakeModel([callOf('mail'), { text: 'ok' }])),
    ).run(runInput({ toolset }), ports)
    expect(order).toEqual(['intent', 'sync', 'effect', 'done', 'done'])
  })

  it('charges a full model call for one that a crash may have cut after it was sent, on the record', async () => {
    const model = createFakeModel([{ text: 'hello' }])
    const journal = createMemoryJournal()
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ lostCalls: 2 }),
      runPorts({ journal }),
    )
    expect(result.usage).toMatchObject({ tokens: 2 * 150 + 110, modelCalls: 3 })
    const events = [...journal.rows.values()].flatMap((turn) => turn.events)
    const lost = events.filter(({ type }) => type === 'model_failed').map(({ data }) => data)
    expect(lost).toMatchObject([
      { request: 1, code: 'lost', bookedTokens: 150 },
      { request: 2, code: 'lost', bookedTokens: 150 },
    ])
  })

  it('gives back the result of a run that is over', async () => {
    const journal = createMemoryJournal()
    const first = await createEndingKernel(
      createKernelParts(createFakeModel([{ text: 'hi' }])),
    ).run(runInput(), runPorts({ journal }))
    const again = await createEndingKernel(createKernelParts(createFakeModel([]))).run(
      runInput(),
      runPorts({ journal }),
    )
    expect(again).toEqual(first)
  })
})
