import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { CallRecord } from '#runtime/kernel/types/journal.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Planner } from '#runtime/kernel/types/plan.ts'
import type { OutputStore } from '#runtime/kernel/types/policy.ts'
import type { ToolEntry, ToolResult } from '#contracts/tool.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { openPolicy } from '../../src/features/access/open-policy.ts'
import type { GatedCall, TurnScope } from '../../src/runtime/kernel/call.ts'
import { createLedger } from '../../src/runtime/kernel/leases/ledger.ts'
import { createFinishReflector } from '../../src/features/agents/model-planner.ts'
import { createDeadlines } from '../../src/runtime/kernel/deadlines.ts'
import { passGates } from '../../src/runtime/kernel/pipeline.ts'
import { parallelExecutor } from '../../src/runtime/kernel/compose.ts'
import { systemSources } from '../../src/compose/sources.ts'
import {
  agentSpec,
  createEndingKernel,
  createFakeModel,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
  type MemoryJournal,
} from '../fakes/kernel.ts'
import { dataOf } from '../fakes/events.ts'

/** Inputs that make one tool do each thing. What a tool cannot do is left out, and only that is not asked of it. */
export interface ToolInputs {
  readonly succeed: JsonObject
  /** Refused by the input schema. */
  readonly invalid: JsonObject
  /** Each makes the tool fail by itself. */
  readonly fail?: readonly JsonObject[]
  /** Never answers unless it is stopped. */
  readonly hang?: JsonObject
  /** Answers more than `outputs.maxChars` characters. */
  readonly long?: JsonObject
}

/** One tool with the parts of the host that stand around it, as a composition would build them. */
export interface ToolSubject {
  readonly entry: ToolEntry
  /** How often the work behind the tool was really begun. */
  readonly executions: () => number
  /** How often the work learned that it has to stop, where it listens. */
  readonly stopped?: () => number | Promise<number>
  /** Trace ids that reached the work, where it can tell. */
  readonly traces?: () => readonly string[]
  readonly outputs: OutputStore
  /** The session it runs in, for a tool to which that matters. */
  readonly session?: string
  /** `isola__read_output` over the same outputs. */
  readonly readOutput: ToolEntry
  readonly dispose?: () => void
}

export interface ToolHarness {
  readonly inputs: ToolInputs
  readonly create: () => ToolSubject | Promise<ToolSubject>
}

interface Call {
  readonly name: string
  readonly input: JsonObject
}

/** A turn as the test scripts it, given what the calls before it answered. */
type Turn = readonly Call[] | ((answers: readonly Json[]) => readonly Call[])

interface DriveOptions {
  readonly turns: readonly Turn[]
  readonly limits?: Partial<Limits>
  readonly timeoutMs?: number
  readonly journal?: MemoryJournal
  readonly signal?: AbortSignal
  readonly run?: string
  readonly trace?: string
  readonly more?: readonly ToolEntry[]
}

interface Drive {
  readonly result: AgentResult
  readonly calls: readonly CallRecord[]
  readonly events: readonly SessionEvent[]
  /** The rest of the lease at each plan. */
  readonly left: readonly Limits[]
  /** The outcomes of calls that the planner saw. */
  readonly answers: readonly Json[]
}

const traceId = 'c0ffee00'.repeat(4)
const finishedKeys = ['argsHash', 'call', 'durationMs', 'ok', 'outputChars', 'taint', 'tool']
const startedKeys = ['argsHash', 'call', 'definitionHash', 'inputChars', 'tool']

/**
 * What every tool must do whatever stands behind it (N1, E3): a built-in, a plugin's and a sub-agent's run the same
 * tests, through the real kernel. A new kind of tool starts as ten lines that call this.
 */
export function describeTool(name: string, { inputs, create }: ToolHarness): void {
  describe(`the battery, ${name}`, () => {
    let subject: ToolSubject | undefined
    const setUp = async () => (subject = await create())
    afterEach(() => {
      subject?.dispose?.()
      subject = undefined
    })
    const callOf = ({ entry }: ToolSubject, input: JsonObject): Call => ({
      name: entry.tool.name,
      input,
    })

    it('N2: has a name, a description and an input schema that any model takes', async () => {
      const { tool } = (await setUp()).entry
      expect(tool.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(tool.description.trim()).not.toBe('')
      expect(tool.inputSchema).toMatchObject({ type: 'object' })
      expect(JSON.parse(JSON.stringify(tool.inputSchema))).toEqual(tool.inputSchema)
      expect(tool.execute).toBeTypeOf('function')
    })

    it('N2, E3: answers JSON', async () => {
      const one = await setUp()
      const { result, calls, answers } = await drive(one, {
        turns: [[callOf(one, inputs.succeed)]],
      })
      expect(result).toMatchObject({ state: 'completed', actions: [{ ok: true }] })
      const outcome = calls[0]?.outcome as Extract<ToolResult, { ok: true }>
      expect(outcome.ok).toBe(true)
      expect(JSON.parse(JSON.stringify(outcome.output))).toEqual(outcome.output)
      expect(answers).toEqual([outcome.output])
      expect(one.executions()).toBe(1)
    })

    it('N10, E3: refuses input that does not fit its schema before anything runs', async () => {
      const one = await setUp()
      const { result, calls } = await drive(one, { turns: [[callOf(one, inputs.invalid)]] })
      expect(calls[0]?.outcome).toMatchObject({ ok: false, error: { code: 'tool_invalid_input' } })
      expect(result.state).toBe('completed')
      expect(result.usage.toolCalls).toBe(0)
      expect(one.executions()).toBe(0)
    })

    const { fail, hang, long } = inputs
    if (fail) {
      it('N2, I30: its own failure is a code and a message, and the run goes on', async () => {
        const one = await setUp()
        const { result, calls } = await drive(one, {
          turns: fail.map((input) => [callOf(one, input)]),
        })
        expect(result.state).toBe('completed')
        expect(calls).toHaveLength(fail.length)
        for (const { outcome } of calls) {
          const { ok, error } = outcome as Extract<ToolResult, { ok: false }>
          expect(ok).toBe(false)
          const { code, message, transient: _transient, ...rest } = error
          expect(code).toBe('tool_failed')
          expect(message).not.toBe('')
          expect(rest).toEqual({})
          expect(JSON.stringify(outcome)).not.toMatch(traceOfCode)
        }
      })
    }

    if (hang) {
      it('E3, I15: a cancel ends it at once with tool_cancelled, and with one outcome', async () => {
        const one = await setUp()
        const stop = new AbortController()
        const driving = drive(one, { turns: [[callOf(one, hang)]], signal: stop.signal })
        await vi.waitFor(() => expect(one.executions()).toBe(1), { timeout: 60_000 })
        const before = Date.now()
        stop.abort(new Error('The user said stop.'))
        const { result, calls, events } = await driving
        expect(Date.now() - before).toBeLessThan(2_000)
        expect(result.state).toBe('cancelled')
        expect(calls[0]?.outcome).toMatchObject({ ok: false, error: { code: 'tool_cancelled' } })
        expect(ownEvents(events, 'tool_finished')).toHaveLength(1)
        expect(events.filter(({ type }) => type === 'run_finished')).toHaveLength(1)
        await expectStopped(one)
      })

      it('N6, E3: a call that does not answer in time ends with tool_timeout, and the run goes on', async () => {
        const one = await setUp()
        const { result, calls } = await drive(one, {
          turns: [[callOf(one, hang)]],
          timeoutMs: 300,
        })
        expect(calls[0]?.outcome).toMatchObject({ ok: false, error: { code: 'tool_timeout' } })
        expect(result.state).toBe('completed')
        await expectStopped(one)
      })

      it('N6, E3: the time of the run ends it too, and stops the run', async () => {
        const one = await setUp()
        const { result, calls } = await drive(one, {
          turns: [[callOf(one, hang)]],
          limits: { maxTimeMs: 400 },
        })
        expect(result).toMatchObject({ state: 'stopped', error: { code: 'lease_time' } })
        expect(calls).toMatchObject([{ outcome: { ok: false } }])
      })
    }

    it('N6, E3: does not run without a lease, and the run stops keeping what it has', async () => {
      const one = await setUp()
      const { result, calls, events } = await drive(one, {
        turns: [[callOf(one, inputs.succeed)]],
        limits: { maxToolCalls: 0 },
      })
      expect(one.executions()).toBe(0)
      expect(result).toMatchObject({ state: 'stopped', error: { code: 'lease_tool_calls' } })
      expect(calls[0]?.outcome).toMatchObject({ ok: false, error: { code: 'lease_tool_calls' } })
      expect(events.map(({ type }) => type)).toContain('lease_refused')
      expect(result.usage).toMatchObject({ toolCalls: 0, children: 0, tokens: 0 })
    })

    it('N6: a refused lease leaves nothing reserved', async () => {
      const one = await setUp()
      const ledger = createLedger({ ...defaultAgentLimits, maxToolCalls: 0 })
      await passGates(callState(one.entry, inputs.succeed), turnScope(one, ledger))
      expect(Object.values(ledger.reserved())).toEqual([0, 0, 0, 0, 0])
      expect(Object.values(ledger.settled())).toEqual([0, 0, 0, 0, 0])
      expect(one.executions()).toBe(0)
    })

    const ways: readonly (readonly [string, JsonObject | undefined, number?])[] = [
      ['success', inputs.succeed],
      ['invalid input', inputs.invalid],
      ['failure', fail?.[0]],
      ['a timeout', hang, 300],
    ]
    for (const [way, input, timeoutMs] of ways) {
      if (!input) continue
      it(`N6: books what was spent and returns the rest after ${way}`, async () => {
        const one = await setUp()
        const limits = { ...defaultAgentLimits, maxTokens: 40_000, maxCostNanoUsd: 10 ** 9 }
        const { result, left } = await drive(one, {
          turns: [[callOf(one, input)]],
          limits,
          ...(timeoutMs !== undefined && { timeoutMs }),
        })
        expect(left).toHaveLength(2)
        // The rest at the last plan and the bookings of the run are the whole: nothing is reserved.
        expect(left[1]).toMatchObject({
          maxTokens: limits.maxTokens - result.usage.tokens,
          maxCostNanoUsd: limits.maxCostNanoUsd - result.usage.costNanoUsd,
          maxTurns: limits.maxTurns - result.usage.turns,
          maxToolCalls: limits.maxToolCalls - result.usage.toolCalls,
          maxChildren: limits.maxChildren - result.usage.children,
        })
      })
    }

    it('N7, E3: one trace id reaches the work and every event', async () => {
      const one = await setUp()
      const { events } = await drive(one, { turns: [[callOf(one, inputs.succeed)]] })
      expect(new Set(events.map(({ trace }) => trace))).toEqual(new Set([traceId]))
      for (const trace of one.traces?.() ?? []) expect(trace).toBe(traceId)
    })

    it('N3, N7, N11, E3: is on the record in one shape, with its origin copied for the log only', async () => {
      const one = await setUp()
      const { tool, record, definitionHash } = one.entry
      const given = [inputs.succeed, inputs.invalid, ...(fail ?? [])]
      const { events, calls } = await drive(one, {
        turns: given.map((input) => [callOf(one, input)]),
      })
      const started = ownEvents(events, 'tool_started')
      const finished = ownEvents(events, 'tool_finished')
      expect(started.map((event) => keysOf(event, record))).toEqual(given.map(() => startedKeys))
      expect(finished.map((event) => keysOf(event, record))).toEqual(
        calls.map(({ outcome }) =>
          outcome?.ok ? finishedKeys : [...finishedKeys, 'code'].toSorted(compare),
        ),
      )
      started.forEach(({ data }, index) =>
        expect(data).toEqual({
          ...record,
          call: calls[index]?.id,
          tool: tool.name,
          definitionHash,
          argsHash: systemSources.sha256(toCanonicalJson(given[index])),
          inputChars: JSON.stringify(given[index]).length,
        }),
      )
      finished.forEach(({ data }, index) => {
        const outcome = calls[index]?.outcome
        const told = JSON.stringify(outcome?.ok ? outcome.output : outcome?.error)
        expect(data).toMatchObject({ ...record, tool: tool.name, outputChars: told.length })
        expect(dataOf({ data })['durationMs']).toBeGreaterThanOrEqual(0)
      })
    })

    if (long) {
      it('E3: keeps what is too long behind a handle that can be paged and searched to the end', async () => {
        const one = await setUp()
        const read = one.readOutput.tool.name
        const pages: string[] = []
        const handleOf = (answers: readonly Json[]) => (answers[0] as JsonObject)['handle'] ?? ''
        const pageFrom = (answers: readonly Json[]): readonly Call[] => {
          const last = answers.at(-1) as JsonObject
          const isPage = answers.length > 1
          if (isPage) pages.push(String(last['text']))
          const offset = isPage ? last['nextOffset'] : 0
          return offset === undefined
            ? [{ name: read, input: { handle: handleOf(answers), query: 'NEEDLE' } }]
            : [{ name: read, input: { handle: handleOf(answers), offset } }]
        }
        const turns: Turn[] = [[callOf(one, long)]]
        for (let page = 0; page < 20; page += 1)
          turns.push((answers) => (isSearch(answers.at(-1)) ? [] : pageFrom(answers)))
        const limits = { maxTurns: 30 }
        const { result, answers } = await drive(one, { turns, limits, more: [one.readOutput] })
        expect(result.state).toBe('completed')
        const kept = answers[0] as JsonObject
        expect(JSON.stringify(kept).length).toBeLessThanOrEqual(one.outputs.maxChars)
        expect(kept['handle']).toBeTypeOf('string')
        const whole = pages.join('')
        expect(whole).toHaveLength(Number(kept['chars']))
        expect(() => JSON.parse(whole) as unknown).not.toThrow()
        expect(whole.startsWith(String(kept['head']))).toBe(true)
        const found = answers.find(isSearch) as { matches: readonly JsonObject[] }
        expect(found.matches).toHaveLength(1)
        expect(whole.slice(Number(found.matches[0]?.['offset']))).toMatch(/^NEEDLE/)
      })
    }

    it('I3, E3: a call that is finished is not run again when the journal is resumed', async () => {
      const one = await setUp()
      const run = systemSources.ids.next('run')
      const journal = createMemoryJournal()
      const crash = new AbortController()
      // The call before it does not answer: when the machine goes away, the outcome is written but not yet told.
      const blocker = (execute: ToolEntry['tool']['execute']) => toolEntry('blocker', execute)
      const turns = [[{ name: 'blocker', input: {} }, callOf(one, inputs.succeed)]]
      const hanging = blocker(
        (_input, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new Error('gone'))),
          ),
      )
      const first = drive(one, { turns, run, journal, signal: crash.signal, more: [hanging] })
      const rows = await vi.waitFor(
        () => {
          const [turn] = journal.load()
          expect(turn?.calls[1]?.outcome).toBeDefined()
          return structuredClone(journal.load())
        },
        { timeout: 60_000, interval: 20 },
      )
      crash.abort(new Error('the machine went away'))
      await first
      const before = one.executions()
      const resumed = await drive(one, {
        turns,
        run,
        journal: createMemoryJournal(rows),
        more: [blocker(async () => says('unblocked'))],
      })
      expect(one.executions()).toBe(before)
      expect(resumed.result.state).toBe('completed')
      expect(resumed.calls[1]?.outcome).toEqual(rows[0]?.calls[1]?.outcome)
      const finished = ownEvents(resumed.events, 'tool_finished')
      expect(finished.map((event) => dataOf(event)['tool'])).toEqual([
        'blocker',
        one.entry.tool.name,
      ])
      expect(keysOf(finished[1]!, one.entry.record)).toEqual(finishedKeys)
    })

    it('N5: calls of two runs at once do not meet', async () => {
      const one = await setUp()
      const traces = ['a'.repeat(32), 'b'.repeat(32)]
      const drives = await Promise.all(
        traces.map((trace) => drive(one, { turns: [[callOf(one, inputs.succeed)]], trace })),
      )
      expect(one.executions()).toBe(2)
      drives.forEach(({ result, events }, index) => {
        expect(result).toMatchObject({ state: 'completed', trace: traces[index] })
        expect(new Set(events.map(({ trace }) => trace))).toEqual(new Set([traces[index]]))
      })
      if (one.traces) expect([...one.traces()].toSorted(compare)).toEqual(traces)
    })
  })
}

/** The call is over for the caller; what it began must not go on behind its back. */
async function expectStopped({ stopped }: ToolSubject): Promise<void> {
  if (stopped) await vi.waitFor(async () => expect(await stopped()).toBe(1), { timeout: 60_000 })
}

/** A stack, a file or a place in one. */
const traceOfCode =
  /\n\s+at |file:\/\/|node_modules|\.[mc]?[jt]s:\d+|\/(?:work|home|Users|src|test)\//

const isSearch = (answer: Json | undefined) =>
  typeof answer === 'object' && answer !== null && 'matches' in answer

/** Of the calls of the loop: what their code begins has events of its own, with a `parent`. */
const ownEvents = (events: readonly SessionEvent[], wanted: SessionEvent['type']) =>
  events.filter((event) => event.type === wanted && dataOf(event)['parent'] === undefined)

const compare = (a: string, b: string) => a.localeCompare(b)

const keysOf = ({ data }: SessionEvent, record: ToolEntry['record']) =>
  Object.keys(data)
    .filter((key) => !Object.hasOwn(record, key))
    .toSorted(compare)

/** Follows the script, one turn after the other, then finishes. */
function scripted(turns: readonly Turn[], left: Limits[], seen: Json[]): Planner {
  return {
    async plan({ turn, messages, left: rest }) {
      left.push(rest)
      const answers = messages.flatMap((message) =>
        message.role === 'tool' ? [message.output] : [],
      )
      seen.splice(0, seen.length, ...answers)
      const script = turns[turn - 1] ?? []
      const calls = typeof script === 'function' ? script(answers) : script
      if (calls.length === 0) return [{ type: 'finish', message: 'done' }]
      return calls.map(({ name, input }) => ({ type: 'tool', callId: '', toolId: name, input }))
    },
  }
}

/** Runs the script in the real kernel, with the real gates, validator and clock. */
async function drive(subject: ToolSubject, options: DriveOptions): Promise<Drive> {
  const { turns, limits, timeoutMs, more = [], journal = createMemoryJournal() } = options
  const left: Limits[] = []
  const answers: Json[] = []
  const events: SessionEvent[] = []
  const entry = timeoutMs === undefined ? subject.entry : { ...subject.entry, timeoutMs }
  const session = subject.session ?? systemSources.ids.next('ses')
  const validator = createSchemaValidator()
  const kernel = createEndingKernel({
    ...systemSources,
    planner: scripted(turns, left, answers),
    executor: parallelExecutor,
    reflector: createFinishReflector(validator),
    models: createFakeModel([]),
    gates: { ...openPolicy, validator, outputs: subject.outputs },
  })
  let seq = Math.max(0, ...journal.load().flatMap((turn) => turn.events.map((one) => one.seq)))
  const result = await kernel.run(
    runInput({
      run: options.run ?? systemSources.ids.next('run'),
      session,
      rootSession: session,
      trace: options.trace ?? traceId,
      agent: agentSpec({ ...limits }),
      toolset: toolsetOf([entry, ...more]),
      startedAtMs: systemSources.clock.nowMs(),
    }),
    runPorts({
      journal,
      nextSeq: () => (seq += 1),
      ...(options.signal && { signal: options.signal }),
    }),
  )
  const rows = journal.load()
  events.push(...rows.flatMap((turn) => turn.events))
  return { result, calls: rows.flatMap((turn) => turn.calls), events, left, answers }
}

function callState({ tool }: ToolEntry, input: JsonObject): GatedCall {
  return {
    id: 'call_1',
    name: tool.name,
    input,
    emit: () => {},
    hasRun: false,
    startedAtMs: 0,
  }
}

function turnScope(
  { entry, outputs }: ToolSubject,
  ledger: ReturnType<typeof createLedger>,
): TurnScope {
  const { run, session, rootSession, principal, depth } = runInput()
  return {
    parts: {
      ...openPolicy,
      outputs,
      validator: createSchemaValidator(),
      clock: systemSources.clock,
      sha256: systemSources.sha256,
      models: createFakeModel([]),
    },
    toolset: toolsetOf([entry]),
    ledger,
    share: defaultAgentLimits,
    timeLeftMs: () => 60_000,
    deadlines: createDeadlines(systemSources.clock),
    argsHashes: new WeakMap(),
    answerTo: () => undefined,
    mayAsk: false,
    signal: new AbortController().signal,
    caller: {
      run,
      session,
      rootSession,
      principal,
      depth,
      agent: 'tester',
      trace: traceId,
      options: {},
      ancestry: ['tester'],
    },
  }
}
