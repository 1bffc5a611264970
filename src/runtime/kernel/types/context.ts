import type { Message } from '#contracts/message.ts'
import type { Compaction } from '#contracts/context.ts'
import type { RunInput } from './kernel.ts'
import type { Usage } from '#contracts/lease.ts'
import type { PlannerState } from './plan.ts'
import type { AddedText } from './agent-pin.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import type { Toolset } from '#contracts/tool.ts'

/** The messages that a model is sent, and the compaction made for this call. */
export interface BuiltContext {
  readonly messages: readonly Message[]
  /** Estimated input tokens of the call, tools included. */
  readonly tokens: number
  /** Has to be stored before the call is made: later steps, a resumed run and a replay apply it. */
  readonly compaction?: Compaction
}

/** A turn before its planner runs. `messages` is the whole transcript; no client streams the text of `generate`. */
export interface FittingTurn extends PlannerState {
  readonly run: RunInput
  /** The compactions of this run, oldest first. */
  readonly own: readonly Compaction[]
  /** The last of it is of this very turn, which was cut: nothing is decided again. */
  readonly isDecided: boolean
  /** The usage booked to the turn so far, with failed and lost attempts. */
  readonly spent: () => Pick<Usage, 'tokens' | 'costNanoUsd'>
  /** The model refused it as too long. */
  readonly force?: 'context_error' | undefined
}

/** The kernel calls this before each model call. */
export interface ContextFitter {
  /**
   * `undefined` if all that was said is sent as it is. Throws what `ContextBuilder.build` throws, and
   * `model_context_exceeded` if the model refused it and nothing can leave.
   */
  readonly fit: (turn: FittingTurn) => Promise<BuiltContext> | undefined
}

/** The kinds of content in a model call. A summary stands for the messages before it. */
export const contextPartKinds = [
  'instructions',
  'added_by_plugins',
  'tools',
  'user_messages',
  'assistant_messages',
  'tool_results',
  'cleared_results',
  'summary',
] as const

export interface ContextPartView {
  readonly kind: (typeof contextPartKinds)[number]
  /** Estimated as the reservation of a call is. */
  readonly tokens: number
  /** How many messages, tools or texts. */
  readonly count: number
}

/** The window of a session's next model call, as far as it is known before the next message. */
export interface ContextView {
  readonly agent: string
  /** The model that would answer; absent if none would. */
  readonly model?: string
  /** Input of the call: all parts, and what chat formats add to a request. */
  readonly tokens: number
  /** The model's input limit in tokens: its window less `maxOutputTokens`. Absent if the model declares no window. */
  readonly windowTokens?: number
  /** The output cap of the call. */
  readonly maxOutputTokens?: number
  /** Above this it is compacted by itself, and to that; absent without a window. */
  readonly startTokens?: number
  readonly targetTokens?: number
  /** The kinds of messages in the window, in the order in which they are sent. */
  readonly parts: readonly ContextPartView[]
  /** How many messages the transcript has, of every sender. A model is sent fewer once a summary replaces some. */
  readonly saidMessages: number
  /** The cost of the call: its input, and with as much output as it may have. Absent if no price is known. */
  readonly costUsd?: { readonly input: number; readonly atMost: number }
}

/** A session at rest, as its next run would find it. */
export interface ReadContext {
  readonly agent: { readonly spec: AgentSpec; readonly toolset: Toolset }
  /** Without the agent's instructions. */
  readonly messages: readonly Message[]
  /** The compactions of these messages, oldest first. The last ones suffice. */
  readonly compactions: readonly Compaction[]
  /** Whether a message belongs to a failed run. */
  readonly isLeftOver?: (message: Message) => boolean
  /** The texts that plugins added to the last run. */
  readonly added?: readonly AddedText[]
}

/** Shows what a model would be sent, without calling it. */
export interface ContextReader {
  readonly view: (of: ReadContext) => ContextView
  /** The messages that a model is sent in place of these, without the agent's instructions. */
  readonly shown: (of: Pick<ReadContext, 'messages' | 'compactions'>) => readonly Message[]
  /** Whether a compaction now would free anything. */
  readonly isWorthwhile: (of: ReadContext) => Promise<boolean>
}
