import type { AgentResult, ModelCallSummary } from '#contracts/agent.ts'
import type { Compaction } from '#contracts/context.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import { addUsage, zeroUsage, type Amount, type Limits, type Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { Pause } from './pause.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import type { PlanStep } from './plan.ts'
import type { ToolResult } from '#contracts/tool.ts'

/** A call as the journal keeps it: intent (everything but `outcome`) and outcome. */
export interface CallRecord {
  readonly id: string
  /** The name that the model used. */
  readonly name: string
  /** The tool that really ran, if it resolved. */
  readonly tool: string
  /** The arguments that the model gave. */
  readonly input: JsonObject
  readonly definitionHash: string
  /** May run again after a cut: declared read-only or idempotent. */
  readonly isRepeatable: boolean
  readonly startedAtMs: number
  /** The reservation of a call that may spend or that waits: stored before the call begins. */
  readonly reserved?: Amount
  /** The call waits for an answer from outside and has not begun, or its outcome comes from there. */
  readonly pause?: Pause
  /** sha-256 of the arguments that were run. `isola__call` and hooks may change the arguments that the model gave. */
  readonly argsHash?: string
  readonly outcome?: ToolResult
  readonly durationMs?: number
}

/** The reservations of calls without an outcome: begun, or waiting. */
export const heldBy = (calls: readonly CallRecord[]): Usage =>
  calls.reduce(
    (sum, { outcome, reserved }) =>
      outcome || !reserved ? sum : addUsage(sum, { ...zeroUsage, ...reserved }),
    zeroUsage,
  )

/** One turn in one row: the model's reply as steps, the calls, the usage and the events. */
export interface TurnRecord {
  /** Counts from 1 within the run. */
  readonly turn: number
  /** Messages that arrived during the run and that this turn was the first to see. */
  readonly received?: readonly Message[]
  /** The compactions made before its model call, oldest first. */
  readonly compactions?: readonly Compaction[]
  /** The label of everything that its model was sent, and so of its text and calls. */
  readonly label?: Label | undefined
  /** The most each of its calls may spend, pinned when the first one ran. */
  readonly share?: Limits
  readonly steps: readonly PlanStep[]
  readonly calls: readonly CallRecord[]
  readonly modelCalls: readonly ModelCallSummary[]
  /** Spent by this turn, its calls included. */
  readonly usage: Usage
  /** The platform work of the run itself in this turn, without the runs below it. */
  readonly platform?: PlatformAmounts
  readonly events: readonly SessionEvent[]
  /** The turn waits as a whole: a limit was reached in it, or a loop is suspected. */
  readonly pause?: Pause
  /**
   * False while the turn is under way: the row is an intent or a checkpoint. If `steps` is empty too, the row has no
   * plan yet.
   */
  readonly isDone: boolean
  /** Set on the last turn of a run: the terminal state is in the same row. */
  readonly final?: AgentResult
}

/**
 * The record a run is resumed from. `write` replaces the row of that turn; it is synchronous, so that a turn
 * and its events land together or not at all.
 */
export interface Journal {
  readonly load: () => readonly TurnRecord[]
  readonly write: (turn: TurnRecord) => void
  /** Resolves when everything written is durable. */
  readonly sync: () => Promise<void>
}
