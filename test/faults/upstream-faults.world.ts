import * as ledgers from '../../src/runtime/kernel/leases/ledger.ts'
import { expect, vi } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { SessionEvent } from '#contracts/event.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { narrower, unlimited, type Limits } from '#contracts/lease.ts'
import type { Ledger } from '#runtime/kernel/types/lease.ts'
import type { Carrier } from '#contracts/outbound.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import {
  createInputValidator,
  createSchemaValidator,
} from '../../src/runtime/catalog/schema-validator.ts'
import { createKernel } from '../../src/runtime/kernel/run.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { createOpenAiProvider } from '../../src/platform/models/openai-provider.ts'
import { givenPrices } from '../../src/platform/models/prices.ts'
import {
  agentSpec,
  createFakeModel,
  createFakeSources,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../fakes/kernel.ts'
import type { Answer } from './upstream-faults.wire.ts'
import { sendOver } from '../fakes/outbound.ts'

/** The deadline of a model call in these tests. */
export const deadlineMs = 60_000

/** Time that passes only when nothing else can happen. */
function createVirtualClock(): Clock & { until: <T>(work: Promise<T>) => Promise<T> } {
  let now = 1_000_000
  const sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>()
  return {
    nowMs: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const sleeper = { atMs: now + ms, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper)
          resolve()
        })
      }),
    async until(work) {
      let isOver = false
      const over = work.finally(() => (isOver = true))
      over.catch(() => {})
      while (!isOver) {
        for (let step = 0; step < 8 && !isOver; step += 1) await new Promise(setImmediate)
        const next = Math.min(...[...sleepers].map(({ atMs }) => atMs))
        if (isOver || !Number.isFinite(next)) continue
        now = Math.max(now, next)
        for (const sleeper of sleepers) {
          if (sleeper.atMs > now) continue
          sleepers.delete(sleeper)
          sleeper.wake()
        }
      }
      return over
    },
  }
}

/** Every ledger of a run, looked at after each step it takes. */
export function watchLedgers() {
  const created = ledgers.createLedger
  const open: Ledger[] = []
  let steps = 0
  const look = (ledger: Ledger): void => {
    steps += 1
    const [settled, reserved] = [ledger.settled(), ledger.reserved()]
    for (const [key, limit] of [
      ['tokens', ledger.limits.maxTokens],
      ['costNanoUsd', ledger.limits.maxCostNanoUsd],
      ['turns', ledger.limits.maxTurns],
      ['toolCalls', ledger.limits.maxToolCalls],
    ] as const) {
      expect(Number.isSafeInteger(settled[key]), `${key} is a count`).toBe(true)
      expect(settled[key], `${key} is never credited`).toBeGreaterThanOrEqual(0)
      expect(reserved[key]).toBeGreaterThanOrEqual(0)
      if (limit < unlimited) expect(settled[key] + reserved[key], key).toBeLessThanOrEqual(limit)
    }
  }
  vi.spyOn(ledgers, 'createLedger').mockImplementation((...given) => {
    const ledger = created(...given)
    open.push(ledger)
    const looking =
      <A extends readonly unknown[], R>(act: (...args: A) => R) =>
      (...args: A): R => {
        const result = act(...args)
        look(ledger)
        return result
      }
    return {
      ...ledger,
      reserve: looking(ledger.reserve),
      settle: looking(ledger.settle),
      charge: looking(ledger.charge),
    }
  })
  return {
    steps: () => steps,
    expectNothingReserved() {
      for (const ledger of open) {
        expect(Object.values(ledger.reserved()).every((amount) => amount === 0)).toBe(true)
      }
    },
  }
}

export interface Outcome {
  /** Of the agent with the faulty model. */
  readonly result: AgentResult
  readonly events: readonly SessionEvent[]
  /** Text its reader saw. */
  readonly seen: string
  /** The input of the one tool. */
  readonly noted: readonly unknown[]
  readonly requests: number
  readonly elapsedMs: number
  /** Results of tool calls as the model was told them. */
  readonly answers: readonly string[]
  /** Of the agent above it, if there is one. */
  readonly parent: AgentResult | undefined
}

export interface WorldOptions {
  readonly answers: readonly Answer[]
  readonly by: 'agent' | 'sub-agent'
  readonly isWatched?: boolean
  readonly limits?: Partial<Limits>
}

/** Plays one run against a model server that answers as scripted; its network is a function, its time is virtual. */
export async function play(options: WorldOptions): Promise<Outcome> {
  const clock = createVirtualClock()
  const sources = createFakeSources(clock)
  const gates = { ...openGates, validator: createInputValidator(createSchemaValidator()) }
  const startedAtMs = clock.nowMs()
  const noted: unknown[] = []
  const bodies: { messages: { role: string; content: string }[] }[] = []
  const upstream: Carrier = async (_url, init) => {
    // Followed, a redirect would take key and conversation along.
    expect(init?.redirect).toBe('manual')
    bodies.push(JSON.parse(String(init?.body)))
    const answer = options.answers[bodies.length - 1]
    if (!answer) throw new Error('the script is over')
    return answer(init!.signal!, clock.sleep)
  }
  const backend = createOpenAiProvider({
    apiKey: 'sk-test',
    baseUrl: 'http://model.test/v1',
    send: sendOver(upstream, { sleep: clock.sleep }),
    sleep: clock.sleep,
    tokens: createTokenEstimator(),
    priceOf: givenPrices({ m: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 } }, 'test'),
  })
  const models: ModelProvider = {
    ...backend,
    select: (model) => ({ provider: 'openai', model: model ?? 'm', substituted: false }),
  }
  const note = {
    ...toolEntry('note', async (input) => {
      noted.push(input)
      return says('noted')
    }),
  }
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
  const toolset = toolsetOf([{ ...note, tool: { ...note.tool, inputSchema } }])
  const journal = createMemoryJournal()
  const ports = runPorts({ journal, isWatched: () => options.isWatched ?? true })
  let result: AgentResult | undefined

  async function runFaulty(lease: Limits, depth: number, signal: AbortSignal) {
    const outcome = await createKernel(createKernelParts(models, { ...sources, gates })).run(
      runInput({
        toolset,
        depth,
        agent: agentSpec(lease, { model: 'm', parameters: { timeoutMs: deadlineMs } }),
        startedAtMs,
      }),
      { ...ports, signal },
    )
    if (outcome.state === 'parked') throw new Error('nothing here parks')
    return (result = outcome)
  }

  async function runParent(): Promise<AgentResult> {
    const parentModel = createFakeModel([
      { calls: [{ name: 'child', input: {} }] },
      { text: 'I went on.' },
    ])
    const child = toolEntry(
      'child',
      async (_input, { lease, depth, signal }) => {
        const limits = narrower({ ...defaultAgentLimits, ...options.limits }, lease)
        const { success, usage, result: text, error } = await runFaulty(limits, depth + 1, signal)
        if (success) return { ok: true, output: text, usage }
        const message = error?.message ?? 'failed'
        return { ok: false, error: { code: 'tool_failed', message }, usage }
      },
      { spends: defaultAgentLimits, timeoutMs: 120_000 },
    )
    const outcome = await createKernel(createKernelParts(parentModel, { ...sources, gates })).run(
      runInput({ toolset: toolsetOf([child]), startedAtMs, run: 'run_parent' }),
      runPorts(),
    )
    if (outcome.state === 'parked') throw new Error('nothing here parks')
    return outcome
  }

  const parent =
    options.by === 'sub-agent'
      ? await clock.until(runParent())
      : (await clock.until(
          runFaulty({ ...defaultAgentLimits, ...options.limits }, 0, new AbortController().signal),
        ),
        undefined)
  if (!result) throw new Error('the run has no result')
  return {
    result,
    parent,
    noted,
    events: [...journal.rows.values()].flatMap((turn) => turn.events),
    seen: ports.deltas.map(({ text }) => text).join(''),
    requests: bodies.length,
    elapsedMs: clock.nowMs() - startedAtMs,
    answers: (bodies.at(-1)?.messages ?? [])
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => content),
  }
}
