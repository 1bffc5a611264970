import type { ModelCallSummary, AgentResult } from '#contracts/agent.ts'
import type { Compaction } from '#contracts/context.ts'
import type { EventDraft, SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from './types/journal.ts'
import { addUsage, zeroUsage, type Limits, type Usage } from '#contracts/lease.ts'
import type { Label } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import type { Pause } from './types/pause.ts'
import type { PlanStep } from './types/plan.ts'

/** A turn while it is being made; `recordOf` makes the journal's record of it. */
export interface TurnDraft {
  readonly turn: number
  /** An earlier segment took its lease. */
  readonly isBegun: boolean
  received: readonly Message[]
  readonly compactions: Compaction[]
  /** The label of everything that its model was sent. */
  label: Label | undefined
  share: Limits | undefined
  steps: readonly PlanStep[]
  calls: CallRecord[]
  readonly modelCalls: ModelCallSummary[]
  readonly events: SessionEvent[]
  /** When this segment opened the turn, and the turn's active time in earlier segments. */
  readonly openedAtMs: number
  readonly timeBeforeMs: number
  /** The pause of the whole turn. */
  pause?: Pause
  /** The usage of the turn's model calls and settled calls. */
  usage: Usage
}

export function openTurn(turn: number, openedAtMs: number, from?: TurnRecord): TurnDraft {
  return {
    turn,
    openedAtMs,
    received: from?.received ?? [],
    isBegun: from !== undefined && from.usage.turns > 0,
    compactions: [...(from?.compactions ?? [])],
    label: from?.label,
    // A turn that a limit refused gets a share of what is left now.
    share: from?.pause ? undefined : from?.share,
    timeBeforeMs: from?.usage.timeMs ?? 0,
    steps: from?.steps ?? [],
    calls: [...(from?.calls ?? [])],
    modelCalls: [...(from?.modelCalls ?? [])],
    events: [...(from?.events ?? [])],
    usage: { ...(from?.usage ?? zeroUsage), turns: from?.steps.length ? from.usage.turns : 1 },
  }
}

export function recordOf(draft: TurnDraft, isDone: boolean, final?: AgentResult): TurnRecord {
  const { turn, received, compactions, label, share, pause, steps, calls } = draft
  const { modelCalls, events, usage } = draft
  return {
    turn,
    ...(received.length > 0 && { received }),
    ...(compactions.length > 0 && { compactions: [...compactions] }),
    ...(label && { label }),
    ...(share && { share }),
    ...(pause && !final && { pause }),
    steps,
    calls: [...calls],
    modelCalls: [...modelCalls],
    events: [...events],
    usage,
    isDone,
    ...(final && { final }),
  }
}

export const usageOf = (turns: readonly TurnRecord[]): Usage =>
  turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)

/** Numbers an event and adds its run, agent, trace and time. */
export type Stamp = (event: EventDraft) => SessionEvent
