import type { AgentResult } from '#contracts/agent.ts'
import type { EventDraft, SessionEvent } from '#contracts/event.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Kernel, RunInput, RunPorts } from '#contracts/kernel.ts'
import { zeroUsage, type Limits } from '#contracts/lease.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { Planner, Reflector } from '#contracts/plan.ts'
import type { GateParts } from '#contracts/runtime.ts'
import type { Sources } from '#contracts/sources.ts'
import { act } from './act.ts'
import { createGenerate } from './generate.ts'
import { createLedger } from './ledger.ts'
import { checkPlan } from './model-planner.ts'
import { finalOf, type Ending } from './result.ts'
import { shareOf } from './share.ts'
import { messagesOf, openTurn, recordOf, usageOf, type Stamp, type TurnDraft } from './turn.ts'

/** The swappable parts (composition over subclassing). */
export interface KernelParts extends Sources {
  readonly planner: Planner
  readonly reflector: Reflector
  readonly models: ModelProvider
  readonly gates: GateParts
}

export function createKernel(parts: KernelParts): Kernel {
  return { run: (input, ports) => runAgent(parts, input, ports), messagesOf }
}

/**
 * Plan → act → reflect until the planner finishes, a lease is refused, or the run is cancelled. Resumes from the
 * journal: finished turns and calls are not repeated. Contract: never throws; exactly one terminal result, which
 * is in the journal when it returns.
 */
async function runAgent(
  parts: KernelParts,
  input: RunInput,
  ports: RunPorts,
): Promise<AgentResult> {
  const { clock } = parts
  const turns = [...ports.journal.load()]
  const last = turns.at(-1)
  if (last?.final) return last.final
  const before = usageOf(turns)
  const ledger = createLedger(input.agent.limits, before)
  const segmentStartMs = clock.nowMs()
  const timeLeftMs = () =>
    input.agent.limits.maxTimeMs - before.timeMs - Math.max(0, clock.nowMs() - segmentStartMs)
  const stamp: Stamp = (event: EventDraft): SessionEvent => ({
    ...event,
    seq: ports.nextSeq(),
    run: input.run,
    agent: input.agent.id,
    trace: input.trace,
    atMs: clock.nowMs(),
  })
  const timer = new AbortController()
  const timeUp = new AbortController()
  void clock.sleep(Math.max(0, timeLeftMs()), timer.signal).then(() => {
    if (!timer.signal.aborted)
      timeUp.abort(new IsolaError('lease_time', 'The time of this run is used up.'))
  })
  const signal = AbortSignal.any([ports.signal, timeUp.signal])
  let draft: TurnDraft = openTurn((last?.turn ?? 0) + 1)

  try {
    const resumed = last && !last.isDone ? turns.pop() : undefined
    draft = openTurn(resumed?.turn ?? (turns.at(-1)?.turn ?? 0) + 1, resumed)
    let lostCalls = resumed ? 0 : input.lostCalls
    if (resumed || lostCalls > 0) {
      draft.events.push(stamp({ type: 'run_resumed', data: { turn: draft.turn, lostCalls } }))
    }
    for (;;) {
      const ending = await runTurn(lostCalls)
      lostCalls = 0
      if (ending) return end(ending)
      write(true)
      turns.push(recordOf(draft, true))
      draft = openTurn(draft.turn + 1)
    }
  } catch (error) {
    return end(endingOf(error, signal))
  } finally {
    timer.abort()
    ports.onSent()
  }

  async function runTurn(lostCalls: number): Promise<Ending | undefined> {
    signal.throwIfAborted()
    const seconds = clock.nowMs()
    if (draft.steps.length === 0) await plan(lostCalls)
    const refused = draft.steps.some(({ type }) => type === 'tool') ? await runCalls() : undefined
    draft.usage = {
      ...draft.usage,
      timeMs: draft.usage.timeMs + Math.max(0, clock.nowMs() - seconds),
    }
    signal.throwIfAborted()
    if (refused)
      return { state: 'stopped', code: refused, message: 'A budget of this run is used up.' }
    const actions = draft.calls.map(({ id, tool, outcome }) => ({
      callId: id,
      toolId: tool,
      result: outcome!,
    }))
    const { agent } = input
    const reflection = await parts.reflector.reflect({
      agent,
      turn: draft.turn,
      steps: draft.steps,
      actions,
      left: leftLimits(),
    })
    return reflection.decision === 'finish' ? { state: 'completed', ...reflection } : undefined
  }

  async function plan(lostCalls: number): Promise<void> {
    const turnLease = ledger.reserve({ turns: 1 })
    if (!turnLease.ok) {
      draft.usage = zeroUsage
      throw new IsolaError(
        'lease_turns',
        `The run has used its ${input.agent.limits.maxTurns} turns.`,
      )
    }
    ledger.settle(turnLease.lease, { turns: 1 })
    let offset = 0
    const generate = createGenerate({
      models: parts.models,
      clock,
      ledger,
      signal,
      draft,
      stamp,
      lostCalls,
      onSent: ports.onSent,
      onDelta(text) {
        ports.onDelta({ type: 'message_delta', run: input.run, turn: draft.turn, offset, text })
        offset += text.length
      },
    })
    const steps = await parts.planner.plan({
      agent: input.agent,
      messages: [
        { role: 'system', text: input.agent.instructions },
        ...input.messages,
        ...turns.flatMap(messagesOf),
      ],
      tools: input.toolset.definitions,
      turn: draft.turn,
      left: leftLimits(),
      signal,
      generate,
    })
    draft.steps = checkPlan(steps, draft.turn, parts.sha256)
    if (draft.steps.some((step) => 'message' in step && step.message !== '')) {
      draft.events.push(stamp({ type: 'message_finished', data: { turn: draft.turn } }))
    }
  }

  function runCalls(): Promise<string | undefined> {
    const { limits } = input.agent
    const calls = draft.steps.filter(({ type }) => type === 'tool').length
    const spent = draft.modelCalls.at(-1)
    const finalCall = { tokens: reserveFor(spent), costNanoUsd: spent?.costNanoUsd ?? 0 }
    const share = shareOf({
      limits,
      left: ledger.left(),
      finalCall,
      calls,
      timeLeftMs: timeLeftMs(),
    })
    return act(draft, {
      scope: {
        parts: { ...parts.gates, clock, sha256: parts.sha256 },
        toolset: input.toolset,
        ledger,
        share,
        timeLeftMs,
        signal,
        caller: {
          run: input.run,
          session: input.session,
          rootSession: input.rootSession,
          principal: input.principal,
          agent: input.agent.id,
          trace: input.trace,
          depth: input.depth,
          ancestry: [...input.ancestry, input.agent.id],
        },
      },
      stamp,
      checkpoint: () => write(false),
      sync: ports.journal.sync,
      maxConcurrency: limits.maxConcurrency,
    })
  }

  function reserveFor(call: { inputTokens: number; outputTokens: number } | undefined): number {
    if (!call) return 0
    return (
      Math.ceil((call.inputTokens + call.outputTokens) * 1.25) +
      (input.agent.parameters.maxOutputTokens ?? 4_096)
    )
  }

  function leftLimits(): Limits {
    const left = ledger.left()
    return {
      ...input.agent.limits,
      maxTokens: left.tokens,
      maxCostNanoUsd: left.costNanoUsd,
      maxTurns: left.turns,
      maxToolCalls: left.toolCalls,
      maxChildren: left.children,
      maxTimeMs: timeLeftMs(),
    }
  }

  /** An agent with an output schema answers in JSON; what does not fit stays text only. */
  function withOutput(ending: Ending): Ending {
    const { outputSchema } = input.agent
    if (!outputSchema || ending.state !== 'completed' || ending.output) return ending
    const output = parseObject(ending.result ?? '')
    if (!output || !parts.gates.validator.validate(outputSchema, output).ok) return ending
    return { ...ending, output }
  }

  function write(isDone: boolean, final?: AgentResult): void {
    const record = recordOf(draft, isDone, final)
    ports.journal.write(record)
    ports.onWritten(record)
  }

  function end(ending: Ending): AgentResult {
    const result = finalOf({
      input,
      ending: withOutput(ending),
      turns: [...turns, recordOf(draft, true)],
      finishedAtMs: clock.nowMs(),
    })
    const data = {
      state: result.state,
      ...result.error,
      ...(ending.detail && { detail: ending.detail }),
    }
    draft.events.push(stamp({ type: 'run_finished', data }))
    write(true, result)
    return result
  }
}

function endingOf(error: unknown, signal: AbortSignal): Ending {
  const cause = signal.aborted ? signal.reason : error
  const code = errorCode(cause)
  const message = errorMessage(cause)
  if (code?.startsWith('lease_')) return { state: 'stopped', code, message }
  if (signal.aborted) return { state: 'cancelled', code: 'cancelled', message }
  if (code === undefined) {
    const safe = 'The run failed for an internal reason.'
    return { state: 'failed', code: 'internal', message: safe, detail: message }
  }
  const detail = cause instanceof IsolaError ? cause.detail : undefined
  return { state: 'failed', code, message, ...(detail !== undefined && { detail }) }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}
