import { describe, expect, it } from 'vitest'
import type { EventDraft } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Capabilities, HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import type { HookSubject } from '#runtime/kernel/types/policy.ts'
import { createSchemaValidator } from '../../../../src/runtime/catalog/schema-validator.ts'
import {
  loadPlugins,
  type LoadedPlugin,
} from '../../../../src/features/plugins/loading/in-process-host.ts'
import {
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../../fakes/kernel.ts'
import { bundle, createTestHooks, loadOne, passAll } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

type Answer = (event: HookEvent, can: Capabilities) => HookAnswer | Promise<HookAnswer>

function listener(
  id: string,
  answers: Readonly<Record<string, Answer>>,
  { match = '*', dependsOn = [] as readonly string[] } = {},
) {
  const told: HookEvent[] = []
  const hooks = Object.entries(answers).map(([on, answer]) => {
    const hook = async (event: HookEvent, can: Capabilities) => {
      told.push(structuredClone(event))
      return answer(event, can)
    }
    return [on, hook] as const
  })
  const contributes = { hooks: Object.keys(answers).map((on) => ({ on, match })) }
  const bundled = bundle({ id, contributes, depends_on: dependsOn }, () => ({
    hooks: Object.fromEntries(hooks),
  }))
  return { bundled, told, inputs: () => told.map(({ input }) => input) }
}

const load = (listeners: readonly ReturnType<typeof listener>[]): readonly LoadedPlugin[] =>
  loadPlugins(
    listeners.map(({ bundled }) => bundled),
    { validator: passAll },
  ).plugins

function subjectOf(input: JsonObject, events: EventDraft[] = []): HookSubject {
  const emit = (event: EventDraft) => void events.push(event)
  return { ...createToolContext(), tool: 'demo__go', input, emit }
}

describe('P16: several plugins that listen', () => {
  it('are asked in the order of their dependencies, each seeing what the one before made of it', async () => {
    const second = listener(
      'a-second',
      { beforeToolCall: ({ input = {} }) => ({ input: { ...input, two: true } }) },
      { dependsOn: ['first'] },
    )
    const first = listener('first', {
      beforeToolCall: ({ input = {} }) => ({ input: { ...input, one: true } }),
    })
    const { tools } = createTestHooks(load([second, first]))
    expect(await tools.before(subjectOf({ a: 1 }))).toMatchObject({
      veto: false,
      input: { a: 1, one: true, two: true },
    })
    expect(first.inputs()).toEqual([{ a: 1 }])
    expect(second.inputs()).toEqual([{ a: 1, one: true }])
  })

  it('cannot change what another one said, nor what another one is told', async () => {
    const meddler = listener('meddler', {
      beforeToolCall(event) {
        Object.assign(event, { tool: 'kv__delete' })
        Object.assign(event.input ?? {}, { a: 2 })
      },
    })
    const after = listener('z-after', { beforeToolCall: () => {} })
    const input = { a: 1 }
    const { tools } = createTestHooks(load([meddler, after]))
    expect(await tools.before(subjectOf(input))).toEqual({ veto: false })
    expect(after.told).toMatchObject([{ tool: 'demo__go', input: { a: 1 } }])
    expect(input).toEqual({ a: 1 })
  })

  it('a veto of one wins over the changes of another, and no later plugin is asked', async () => {
    const changes = listener('a-changes', { beforeToolCall: () => ({ input: {} }) })
    const vetoes = listener('b-vetoes', { beforeToolCall: () => ({ veto: 'no' }) })
    const last = listener('c-last', { beforeToolCall: () => {} })
    const { tools } = createTestHooks(load([changes, vetoes, last]))
    expect(await tools.before(subjectOf({}))).toMatchObject({ veto: true })
    expect(last.told).toEqual([])
  })

  it('F6: are asked apart about a run that is taken up again, which waits for nothing that a crash cut', async () => {
    const guard = listener('guard', { beforeToolCall: () => {}, afterToolCall: () => {} })
    const { tools } = createTestHooks(load([guard]))
    const events: EventDraft[] = []
    // The same call of the same run: each segment has a signal of its own.
    const [cut, again] = [subjectOf({}), subjectOf({}, events)]
    const result = { ok: true, output: 1 } as const
    await Promise.all([tools.before(cut), tools.before(again)])
    await Promise.all([tools.after(cut, result), tools.after(again, result)])
    expect(events).toMatchObject([{ data: { matched: 1 } }, { data: { matched: 1 } }])
  })

  it('have one time limit together', async () => {
    let now = 0
    const clock = { nowMs: () => now, sleep: () => new Promise<void>(() => {}) }
    const slow = listener('a-slow', { beforeToolCall: () => void (now += 2_000) })
    const next = listener('b-next', { beforeToolCall: () => {} })
    const events: EventDraft[] = []
    const asked: number[] = []
    const { tools } = createTestHooks(load([slow, next]), {
      clock: {
        ...clock,
        sleep: async (ms, signal) => {
          asked.push(ms)
          if (ms > 0) await clock.sleep()
          signal?.throwIfAborted()
        },
      },
    })
    expect(await tools.before(subjectOf({}, events))).toMatchObject({ veto: true })
    expect(asked).toEqual([2_000, 0])
    expect(events).toMatchObject([
      { data: { plugin: 'a-slow', durationMs: 2_000, verdict: 'allow' } },
      { data: { plugin: 'b-next', verdict: 'failed' } },
    ])
  })
})

describe('P16: a hook', () => {
  it('has nothing left once its answer is there', async () => {
    const kept: Capabilities[] = []
    const keeper = listener('keeper', { beforeToolCall: (_event, can) => void kept.push(can) })
    const { tools } = createTestHooks([loadOne({ ...keeper.bundled, hash: 'a'.repeat(64) })])
    await tools.before(subjectOf({}))
    expect(kept[0]?.signal.aborted).toBe(true)
    await expect(kept[0]!.storage.get('a')).rejects.toThrow('This call is over.')
  })

  it('that answers after the run was cancelled is a no', async () => {
    const hang = listener('hang', { beforeToolCall: () => new Promise<HookAnswer>(() => {}) })
    const over = new AbortController()
    const sleep = (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
    const { tools } = createTestHooks(load([hang]), { clock: { nowMs: () => 0, sleep } })
    const verdict = tools.before({ ...subjectOf({}), signal: over.signal })
    over.abort(new Error('stop'))
    expect(await verdict).toMatchObject({ veto: true })
  })

  it('changes the words of an error, not that it is one, nor its code', async () => {
    const say = (result: HookAnswer) => listener('say', { afterToolCall: () => result })
    const failed = { ok: false, error: { code: 'tool_failed', message: 'card 4111' } } as const
    const after = (answer: HookAnswer) =>
      createTestHooks(load([say(answer)])).tools.after(subjectOf({}), failed)
    expect(await after({ result: { error: { code: 'x', message: 'card ****' } } })).toMatchObject({
      ok: false,
      error: { code: 'tool_failed', message: 'card ****' },
    })
    expect(await after({ result: { fine: true } })).toMatchObject({
      ok: false,
      error: { code: 'tool_denied' },
    })
  })
})

describe('P16: hooks in the gates of a run', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
  async function runWith(
    listeners: readonly ReturnType<typeof listener>[],
    calls: number,
    journal = createMemoryJournal(),
  ) {
    const ran: JsonObject[] = []
    const go = toolEntry('demo__go', async (input) => {
      ran.push(input)
      return says('gone')
    })
    const entry = { ...go, tool: { ...go.tool, inputSchema: schema } }
    const call = { name: 'demo__go', input: { a: 1 } }
    const asks = { calls: Array.from({ length: calls }, () => call) }
    const model = createFakeModel([...(calls > 0 ? [asks] : []), { text: 'Done.' }])
    const { tools: hooks } = createTestHooks(load(listeners))
    const gates = { ...openGates, validator: createSchemaValidator(), hooks }
    const kernel = createEndingKernel(createKernelParts(model, { gates }))
    const result = await kernel.run(
      runInput({ toolset: toolsetOf([entry]) }),
      runPorts({ journal }),
    )
    const events = [...journal.rows.values()].flatMap((turn) => turn.events)
    const outcomes = journal.rows.get(1)!.calls.map((one) => one.outcome)
    return { result, ran, events, outcomes, journal }
  }

  it('checks a changed input again: what does not fit its schema is not run', async () => {
    const breaks = listener('breaks', { beforeToolCall: () => ({ input: { a: 'x' } }) })
    const { ran, outcomes } = await runWith([breaks], 1)
    expect(ran).toEqual([])
    expect(outcomes).toMatchObject([{ ok: false, error: { code: 'tool_invalid_input' } }])
    const doubles = listener('doubles', { beforeToolCall: () => ({ input: { a: 2 } }) })
    expect((await runWith([doubles], 1)).ran).toEqual([{ a: 2 }])
    expect(doubles.told).toHaveLength(1)
  })

  it('asks once about the eight calls of a turn, before and after', async () => {
    const watch = listener('watch', { beforeToolCall: () => {}, afterToolCall: () => {} })
    const { ran, events } = await runWith([watch], 8)
    expect(ran).toHaveLength(8)
    const called = events.flatMap(({ type, data }) => (type === 'hook_called' ? [data] : []))
    expect(called).toMatchObject([
      { on: 'beforeToolCall', matched: 8 },
      { on: 'afterToolCall', matched: 8 },
    ])
  })

  it('a veto is what the model reads, and the run goes on', async () => {
    const no = listener('no', { beforeToolCall: () => ({ veto: 'not on a Sunday' }) })
    const { result, ran, outcomes } = await runWith([no], 1)
    expect(result.state).toBe('completed')
    expect(ran).toEqual([])
    expect(outcomes).toMatchObject([
      {
        ok: false,
        error: {
          code: 'tool_denied',
          message: 'The plugin no does not allow it: not on a Sunday',
        },
      },
    ])
  })

  it('is asked again about a call that a crash cut, not about one that is over', async () => {
    const watch = listener('watch', { beforeToolCall: () => {} })
    const { journal } = await runWith([watch], 2)
    const turn = journal.rows.get(1)!
    const [over, { outcome: _lost, ...cut }] = [turn.calls[0]!, turn.calls[1]!]
    watch.told.length = 0
    const resumed = createMemoryJournal([{ ...turn, isDone: false, calls: [over, cut] }])
    const { ran, result } = await runWith([watch], 0, resumed)
    expect(result.state).toBe('completed')
    expect(ran).toHaveLength(1)
    expect(watch.told).toHaveLength(1)
  })
})
