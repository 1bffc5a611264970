import * as z from 'zod'
import type { Json, JsonObject } from './json.ts'
import type { Label } from './label.ts'
import type { Limits } from './lease.ts'
import type { Message, TaintLabel } from './message.ts'
import type { ContextModel, ToolDefinition } from './model.ts'
import type { ProvidedAnswer } from './provider.ts'

/** When an agent's context is compacted and to what, as shares of what its model takes as input. */
export const contextSettingsSchema = z
  .strictObject({
    start: z.number().min(0.3).max(0.95).default(0.8),
    target: z.number().min(0.1).max(0.8).default(0.5),
  })
  // 0.5 less 0.4 is a little less than a tenth, as numbers are.
  .refine(({ start, target }) => start - target > 0.1 - 1e-9, {
    message: 'target must be at least 0.1 below start',
    path: ['target'],
  })
export type ContextSettings = z.infer<typeof contextSettingsSchema>

export const defaultContextSettings: ContextSettings = { start: 0.8, target: 0.5 }

/** By how much more than the estimate is reserved for a call's input (docs/design.md invariant 3). */
export const inputReserveFactor = 1.25

/** Counts as the reservation of a call does, so that both mean the same by a token. */
export interface TokenCounter {
  readonly ofText: (text: string) => number
  /** With what a chat format adds around it. */
  readonly ofMessage: (message: Message) => number
  readonly ofTools: (tools: readonly ToolDefinition[]) => number
}

/** What a model is asked for a summary. */
export interface SummaryRequest {
  readonly messages: readonly Message[]
  readonly maxOutputTokens: number
}

export interface SummaryReply {
  readonly text: string
  /** What the call cost, as it was booked. */
  readonly tokens: number
  readonly costNanoUsd: number
  /** Of what was added to the request besides; nothing was if absent. */
  readonly label?: Label | undefined
}

/** The messages of one model call before they are sent, and who helps to make them fewer. */
export interface ContextInput {
  /**
   * All that was ever said: the agent's instructions, the transcript, this run's turns. It only grows at its end;
   * where it did not (a branch), records of the other branch do not fit and are left alone.
   */
  readonly messages: readonly Message[]
  /** Place of the message that the run works on; the last one of the user if absent. */
  readonly taskAt?: number
  readonly tools: readonly ToolDefinition[]
  readonly model: ContextModel
  /** What is left of the run's lease. */
  readonly left: Pick<Limits, 'maxTokens' | 'maxCostNanoUsd'>
  readonly settings: ContextSettings
  /** What was decided for these messages before, oldest first: the newest that fits is applied. */
  readonly records: readonly Compaction[]
  /** The newest record is of this very step: it is applied, and nothing is decided again. */
  readonly isDecided?: boolean
  /** Compact whatever the size is: the model refused it as too long, or somebody asked. */
  readonly force?: 'context_error' | 'requested'
  /** Somebody outside decided on this call or answered it. */
  readonly isDecision?: (answer: Message) => boolean
  /** Of a run that failed: it is not among the last turns, and is quoted after everything else. */
  readonly isLeftOver?: (message: Message) => boolean
  /**
   * Keeps a text of at most 250,000 characters. Answers the handle under which the output tool opens it, the same for
   * the same text.
   * Undefined if there was no room for it. Absent: nobody could open it later, so what leaves is gone.
   */
  readonly keep?: (text: string) => Promise<string | undefined>
  /**
   * Out of the run's own lease. A failure with a code `lease_…` or `model_…` means that the summary is made by rule;
   * any other one ends the step. Absent: by rule.
   */
  readonly summarize?: (request: SummaryRequest) => Promise<SummaryReply>
  /** Asks the plugin that provides the context. Nothing if none does; absent: there are none here. */
  readonly choose?: (asked: JsonObject) => Promise<ProvidedAnswer | undefined>
  readonly signal: AbortSignal
}

/** What is sent, and what was decided for it now. */
export interface BuiltContext {
  readonly messages: readonly Message[]
  /** Estimated input tokens of the call, tools included. */
  readonly tokens: number
  /** To be on record before the call is made: later steps, a resumed run and a replay are given it. */
  readonly compaction?: Compaction
}

/**
 * Fits what was said into what a model takes. Stateless: the same input gives the same messages.
 *
 * Throws `request_too_large` if a message alone is larger than the model takes (the limit is in the text),
 * `model_not_capable` if instructions and tools are, the reason of the signal, and what `keep` throws.
 */
export interface ContextBuilder {
  /** False if `build` would hand the messages back as they are: costs no more than counting them. */
  readonly isNeeded: (input: ContextInput) => boolean
  readonly build: (input: ContextInput) => Promise<BuiltContext>
}

/** One stretch of a compacted context; places count from 0 in `ContextInput.messages`. */
export type ContextPart =
  /** Messages as they were, from a place up to another one. */
  | { readonly keep: readonly [from: number, to: number] }
  /** A tool's answer, with a handle in place of its output. */
  | { readonly at: number; readonly output: Json }
  /** A message of the user, shortened, with a handle. */
  | { readonly at: number; readonly text: string }
  /** What stands for everything that is not there. */
  | {
      readonly summary: string
      readonly taint: readonly TaintLabel[]
      readonly label?: Label | undefined
    }

/** Where what was said from one place up to another can be read in full. */
export interface ContextArchive {
  readonly from: number
  readonly to: number
  readonly handles: readonly string[]
  readonly chars: number
}

/**
 * A decision, whole: with it the context is made again to the byte, without asking or counting anything. Plain data,
 * kept in the row of its turn; at most about as long as what it leaves of the context.
 */
export interface Compaction {
  readonly version: 1
  /** How many messages there were; what came later follows as it is. */
  readonly covers: number
  /** Who said what in them, as a short sum: a record of another branch does not have it. */
  readonly mark: string
  readonly parts: readonly ContextPart[]
  /** Everything before this place is in `parts` or in an archive. */
  readonly goneTo: number
  readonly archives: readonly ContextArchive[]
  /** Identifiers that the summary names, most needed first. */
  readonly ids: readonly NamedId[]
  readonly report: CompactionReport
}

export interface NamedId {
  readonly id: string
  /** Who said it first: `user`, `assistant`, or a tool. */
  readonly source: string
}

/** What is given up when what has to stay is more than the target, in this order; `open_calls` only if it is more than the window. */
export const unpinOrder = [
  'last_turn_results',
  'last_turns',
  'decisions',
  'goal',
  'newest_results',
  'open_calls',
] as const
export type Unpinned = (typeof unpinOrder)[number] | 'ids' | 'archives'

/** What left, what stayed, what it cost. */
export interface CompactionReport {
  /** `start`: the share at which it begins. `budget`: the run's lease takes no more. */
  readonly reason: 'start' | 'budget' | 'context_error' | 'requested'
  readonly stage: 'results' | 'summary'
  /** Of a summary. */
  readonly by?: 'model' | 'rule' | 'provider'
  /** The plugin that chose what leaves. */
  readonly chosenBy?: string
  /** Why the choice of the plugin that provides this did not count: it was made as if there were none. */
  readonly notChosen?: string
  /** Why no model made the summary: the code with which it was refused. */
  readonly refused?: string
  /** Input tokens of the call, tools included. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly targetTokens: number
  /** What a call may have as input. */
  readonly roomTokens: number
  readonly left: {
    /** Answers of tools behind a handle now. */
    readonly results: number
    /** Messages that only the summary and the archives have. */
    readonly messages: number
    /** Of both, what could not be kept: it is in the transcript only. */
    readonly notKept: number
  }
  readonly stayed: {
    readonly messages: number
    readonly lastTurns: number
    readonly decisions: number
    readonly openCalls: number
    readonly ids: number
  }
  /** What was given up of what should stay. */
  readonly unpinned: readonly Unpinned[]
  /** Spent on the summary. */
  readonly tokens: number
  readonly costNanoUsd: number
  /** What the input of a call costs, if a price is known. */
  readonly callCostNanoUsd?: { readonly before: number; readonly after: number }
}
