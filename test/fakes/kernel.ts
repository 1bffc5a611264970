import { createHash } from 'node:crypto'
import type { AgentResult, AgentSpec } from '#contracts/agent.ts'
import type { MessageDelta } from '#contracts/event.ts'
import type { Journal, TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { RunInput, RunPorts } from '#runtime/kernel/types/kernel.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ModelProvider, ModelReply, ModelRequest } from '#contracts/model.ts'
import type { GateParts } from '#runtime/kernel/types/policy.ts'
import type { Clock, Sources } from '#contracts/sources.ts'
import type { Tool, ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'
import { createInputValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { parallelExecutor, composeKernel } from '../../src/runtime/kernel/compose.ts'
import { directPlanner, directReflector } from '../../src/features/agents/direct-call.ts'
import { createFinishReflector, modelPlanner } from '../../src/features/agents/model-planner.ts'
import type { KernelParts } from '../../src/runtime/kernel/segment.ts'

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A clock moved by hand: `sleep` resolves when `advance` reaches it. */
export function createFakeClock(
  startMs = 1_000_000,
): Clock & { advance: (ms: number) => Promise<void> } {
  let now = startMs
  const sleepers = new Set<{ atMs: number; wake: () => void }>()
  return {
    nowMs: () => now,
    sleep: (ms, signal) =>
      new Promise<void>((resolve) => {
        if (ms <= 0) return resolve()
        const entry = { atMs: now + ms, wake: resolve }
        sleepers.add(entry)
        signal?.addEventListener('abort', () => {
          sleepers.delete(entry)
          resolve()
        })
      }),
    async advance(ms) {
      now += ms
      for (const sleeper of sleepers) {
        if (sleeper.atMs > now) continue
        sleepers.delete(sleeper)
        sleeper.wake()
      }
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
    },
  }
}

export function createFakeSources(clock: Clock = createFakeClock()): Sources {
  let count = 0
  return {
    clock,
    sha256,
    ids: {
      next: (prefix) => `${prefix}_${String((count += 1)).padStart(22, '0')}`,
      traceId: () => String((count += 1)).padStart(32, '0'),
    },
  }
}

/** A reply of a test's model: text, or calls; with the usage that it bills. */
export interface Line {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input?: JsonObject }[]
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly error?: unknown
  readonly wait?: Promise<unknown>
}

export type Script = readonly Line[] | ((request: ModelRequest, index: number) => Line)

export interface FakeModel extends ModelProvider {
  readonly requests: ModelRequest[]
}

/** A model that says its lines in order; its estimate is exact: 100 in, 50 out at most. */
export function createFakeModel(
  script: Script,
  estimate = { tokens: 150, costNanoUsd: 0 },
): FakeModel {
  const requests: ModelRequest[] = []
  return {
    id: 'fake',
    requests,
    select: (model) => ({ provider: 'fake', model: model ?? 'fake', substituted: false }),
    estimate: () => estimate,
    async generate(request, { onSent, onDelta, signal }) {
      const line =
        typeof script === 'function' ? script(request, requests.length) : script[requests.length]
      requests.push(structuredClone(request))
      onSent()
      if (!line) throw new Error('the script is over')
      await line.wait
      signal.throwIfAborted()
      if (line.error) throw line.error
      if (line.text) onDelta(line.text)
      return {
        text: line.text ?? '',
        toolCalls: (line.calls ?? []).map(({ name, input }, index) => ({
          id: `m${index}`,
          name,
          input: input ?? {},
        })),
        finishReason: line.calls ? 'tool_calls' : 'stop',
        usage: {
          inputTokens: line.inputTokens ?? 100,
          outputTokens: line.outputTokens ?? 10,
          costNanoUsd: 0,
          priced: true,
          estimated: false,
        },
        provider: 'fake',
        model: 'fake',
      } satisfies ModelReply
    },
  }
}

export const openGates: GateParts = {
  validator: createInputValidator({ validate: () => ({ ok: true }) }),
  policy: { decide: () => ({ allow: true }) },
  rates: { take: () => ({ allow: true }) },
  hooks: { before: async () => ({ veto: false }), after: async (_subject, result) => result },
  approvals: { isNeeded: ({ asks }) => (asks ? {} : false) },
  outputs: {
    maxChars: 1_000,
    keep: async (_subject, json) => ({ handle: 'kept', chars: json.length }),
  },
}

export function createKernelParts(
  models: ModelProvider,
  more: Partial<KernelParts> = {},
): KernelParts {
  return {
    ...createFakeSources(),
    planner: modelPlanner,
    executor: parallelExecutor,
    reflector: createFinishReflector((more.gates ?? openGates).validator),
    gates: openGates,
    models,
    ...more,
  }
}

/** A kernel for runs that are never parked: each ends. */
export function createEndingKernel(parts: KernelParts) {
  const direct = { planner: directPlanner, reflector: directReflector }
  const kernel = composeKernel({ ...parts, direct })
  return {
    ...kernel,
    async run(input: RunInput, ports: RunPorts): Promise<AgentResult> {
      const outcome = await kernel.run(input, ports)
      if (outcome.state === 'parked') throw new Error('the run was parked')
      return outcome
    },
  }
}

export function toolEntry(
  name: string,
  execute: Tool['execute'],
  more: Partial<Omit<ToolEntry, 'tool'>> = {},
): ToolEntry {
  return {
    tool: { name, description: `Does ${name}.`, inputSchema: { type: 'object' }, execute },
    isReadOnly: true,
    isIdempotent: false,
    timeoutMs: 10_000,
    definitionHash: sha256(name),
    record: {},
    ...more,
  }
}

export const says = (output: string): ToolResult => ({ ok: true, output })

export function toolsetOf(entries: readonly ToolEntry[]): Toolset {
  return {
    definitions: entries.map(({ tool: { name, description, inputSchema } }) => ({
      name,
      description,
      inputSchema,
    })),
    resolve(name, input) {
      const entry = entries.find(({ tool }) => tool.name === name)
      return entry && { entry, input }
    },
  }
}

export function agentSpec(limits: Partial<Limits> = {}, more: Partial<AgentSpec> = {}): AgentSpec {
  return {
    id: 'tester',
    name: 'Tester',
    description: 'Tests.',
    instructions: 'You test.',
    model: undefined,
    parameters: {},
    limits: { ...defaultAgentLimits, ...limits },
    provenance: { template: 'tester', version: '1' },
    ...more,
  }
}

export function runInput(more: Partial<RunInput> = {}): RunInput {
  return {
    run: 'run_1',
    session: 'ses_1',
    rootSession: 'ses_1',
    principal: 'operator',
    trace: 't'.repeat(32),
    depth: 0,
    ancestry: [],
    agent: agentSpec(),
    options: {},
    toolset: toolsetOf([]),
    messages: [{ role: 'user', text: 'go', taint: ['user'] }],
    startedAtMs: 1_000_000,
    lostCalls: 0,
    ...more,
  }
}

export interface MemoryJournal extends Journal {
  readonly rows: Map<number, TurnRecord>
  /** Everything ever written, in order. */
  readonly writes: TurnRecord[]
}

export function createMemoryJournal(turns: readonly TurnRecord[] = []): MemoryJournal {
  const rows = new Map(turns.map((turn) => [turn.turn, turn]))
  const writes: TurnRecord[] = []
  return {
    rows,
    writes,
    load: () => [...rows.values()],
    write(turn) {
      // A row is text: what a test reads later is what was true when it was written.
      const copy = structuredClone(turn)
      rows.set(turn.turn, copy)
      writes.push(copy)
    },
    sync: async () => {},
  }
}

export function runPorts(
  more: Partial<RunPorts> = {},
): RunPorts & { readonly deltas: MessageDelta[] } {
  let seq = 0
  const deltas: MessageDelta[] = []
  return {
    deltas,
    journal: createMemoryJournal(),
    nextSeq: () => (seq += 1),
    onDelta: (delta) => void deltas.push(delta),
    onWritten: () => {},
    onSent: () => {},
    signal: new AbortController().signal,
    ...more,
  }
}
