import type { ModelCallSummary } from '#contracts/agent.ts'
import type { EventDraft, SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#contracts/journal.ts'
import { addUsage, zeroUsage, type Limits, type Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { PlanStep } from '#contracts/plan.ts'
import type { AgentResult } from '#contracts/agent.ts'

/** A turn while it is being made; `record` is what the journal gets. */
export interface TurnDraft {
  readonly turn: number
  received: readonly Message[]
  share: Limits | undefined
  steps: readonly PlanStep[]
  calls: CallRecord[]
  readonly modelCalls: ModelCallSummary[]
  readonly events: SessionEvent[]
  /** When this segment opened the turn, and what earlier segments spent in it. */
  readonly openedAtMs: number
  readonly timeBeforeMs: number
  /** Spent by the turn's model calls and by its settled calls. */
  usage: Usage
}

export function openTurn(turn: number, openedAtMs: number, from?: TurnRecord): TurnDraft {
  return {
    turn,
    openedAtMs,
    received: from?.received ?? [],
    share: from?.share,
    timeBeforeMs: from?.usage.timeMs ?? 0,
    steps: from?.steps ?? [],
    calls: [...(from?.calls ?? [])],
    modelCalls: [...(from?.modelCalls ?? [])],
    events: [...(from?.events ?? [])],
    usage: from?.usage ?? { ...zeroUsage, turns: 1 },
  }
}

export function recordOf(draft: TurnDraft, isDone: boolean, final?: AgentResult): TurnRecord {
  const { turn, received, share, steps, calls, modelCalls, events, usage } = draft
  return {
    turn,
    ...(received.length > 0 && { received }),
    ...(share && { share }),
    steps,
    calls: [...calls],
    modelCalls: [...modelCalls],
    events: [...events],
    usage,
    isDone,
    ...(final && { final }),
  }
}

/** The messages a turn adds to the transcript: what came in, what the agent said and called, then what came back. */
export function messagesOf({
  received = [],
  steps,
  calls,
}: Pick<TurnRecord, 'received' | 'steps' | 'calls'>): Message[] {
  const text = steps
    .flatMap((step) => (step.type === 'message' || step.type === 'finish' ? [step.message] : []))
    .join('\n')
  const toolCalls = steps.flatMap((step) =>
    step.type === 'tool' ? [{ id: step.callId, name: step.toolId, input: step.input }] : [],
  )
  if (text === '' && toolCalls.length === 0) return [...received]
  const said: Message = {
    role: 'assistant',
    text,
    ...(toolCalls.length > 0 && { toolCalls }),
    taint: ['model'],
  }
  return [...received, said, ...calls.map(answerOf)]
}

function answerOf(call: CallRecord): Message {
  const { outcome } = call
  const base = { role: 'tool', callId: call.id, name: call.name } as const
  if (outcome?.ok) {
    const taint = outcome.taint ?? [`tool:${call.tool}` as const]
    return { ...base, output: outcome.output, isError: false, taint }
  }
  const error = outcome?.error ?? (call.pause ? stillWaiting : noOutcome)
  return {
    ...base,
    output: { error: { code: error.code, message: error.message } },
    isError: true,
    taint: [`tool:${call.tool}`],
  }
}

const stillWaiting = { code: 'tool_pending', message: 'Waiting for someone; not done so far.' }
const noOutcome = { code: 'tool_outcome_unknown', message: 'No outcome is known.' }

export const usageOf = (turns: readonly TurnRecord[]): Usage =>
  turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)

/** Numbers events and stamps them with whose they are. */
export type Stamp = (event: EventDraft) => SessionEvent
