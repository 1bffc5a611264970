import type { AgentResult, AgentSpec } from '#contracts/agent.ts'
import type { RunEnding } from './agent-result.ts'
import type { Compaction } from '#contracts/context.ts'
import type { EventDraft, MessageDelta } from '#contracts/event.ts'
import type { Journal, TurnRecord } from './journal.ts'
import type { Label } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import type { Pause, PauseAnswer } from './pause.ts'
import type { AddedTexts } from './plan.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { SharedFrom } from '#contracts/manifest/agent-manifest.ts'
import type { Toolset } from '#contracts/tool.ts'
import type { TraceLink } from '#contracts/trace.ts'

/** One run, as explicit input. */
export interface RunInput {
  readonly run: string
  readonly session: string
  readonly rootSession: string
  readonly shared?: SharedFrom | undefined
  readonly principal: string
  readonly trace: string
  readonly traceLink?: TraceLink
  /** `start`: the first run of its session. `reset`: a run that does not continue the session's end. */
  readonly opening?: 'start' | 'reset' | undefined
  readonly depth: number
  /** Agents above this one, root first. */
  readonly ancestry: readonly string[]
  readonly agent: AgentSpec
  readonly options: RunOptions
  readonly toolset: Toolset
  /** The transcript up to and including this run's task; the agent's instructions come before it. */
  readonly messages: readonly Message[]
  /** The label of all of them; least trusted if absent. */
  readonly label?: Label
  /** The compactions of these messages in earlier runs, oldest first. The last ones suffice. */
  readonly compactions?: readonly Compaction[]
  /** Whether a message belongs to a failed run. */
  readonly isLeftOver?: (message: Message) => boolean
  readonly startedAtMs: number
  /** How often the open turn was interrupted before its model call was recorded. */
  readonly lostCalls: number
}

export interface RunPorts {
  readonly journal: Journal
  /** The next place in the session's log. */
  readonly nextSeq: () => number
  readonly onDelta: (delta: MessageDelta) => void
  /** The messages for this run since it began, from the given place on. */
  readonly received?: (from: number) => readonly Message[]
  readonly added?: AddedTexts
  /** The answer to a waiting call, if it is there. */
  readonly answerTo?: (call: string) => PauseAnswer | undefined
  /** The headers of a turn's n-th model request, from 1. Requests that a crash may have cut count too. */
  readonly headersOf?: (turn: number, request: number) => Readonly<Record<string, string>>
  /** Checked before each model call: false if no client reads the text as it arrives. */
  readonly isWatched?: () => boolean
  /** Called after each write, with the record that is now in the log. */
  readonly onWritten: (turn: TurnRecord) => void
  /** Called when the first model request of the segment is on its way, or will not be. */
  readonly onSent: () => void
  /** What the platform costs for the run itself. Absent where the deployment does not count that. */
  readonly platform?: PlatformLease
  /** A principal can raise the limits: a call that a limit refuses waits for that. */
  readonly mayRaise?: boolean
  /** Describes a limit that ends the run and, if `mayRaise`, the pause that waits for a raise. */
  readonly atLimit?: (reached: RunEnding, turns: readonly TurnRecord[]) => LimitAnswer
  /** Reviews the turns before each further one: events to add, and whether the run ends here. */
  readonly review?: (turns: readonly TurnRecord[]) => {
    readonly tell: readonly EventDraft[]
    readonly end?: RunEnding | undefined
  }
  /** Aborted with a reason that has a `code` (`cancelled` if it has none). */
  readonly signal: AbortSignal
}

/**
 * The platform's part of a run's lease: counted by the host, and known only when it has happened. Billionths of a
 * US dollar.
 */
export interface PlatformLease {
  /** The most that a turn may cost, with the writes at a run's end: reserved before the turn begins. */
  readonly turnNanoUsd: () => number
  /**
   * The cost of the turns so far beyond their reservations; below zero if they cost less. Read once before each turn:
   * `turnNanoUsd` is reserved then.
   */
  readonly beyond: () => number
}

/** What a limit means for a run: a pause in which a principal may raise it, or the end with this message. */
interface LimitAnswer {
  readonly message: string
  readonly pause?: Pause
}

/**
 * The run waits for an answer from outside: its segment is over, and its journal has everything that resuming needs.
 */
export interface Parked {
  readonly state: 'parked'
  readonly pauses: readonly Pause[]
}

/** The loop, as its hosts see it. */
export interface Kernel {
  readonly run: (input: RunInput, ports: RunPorts) => Promise<AgentResult | Parked>
}
