import * as z from 'zod'
import type { compaction } from './event-fields.ts'
import type { Json } from './json.ts'
import type { Label } from './label.ts'
import type { Message, TaintLabel } from './message.ts'
import type { ToolDefinition } from './model.ts'

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

/** Counts as the reservation of a call does, so that both mean the same by a token. */
export interface TokenCounter {
  readonly ofText: (text: string) => number
  /** Includes the tokens that a chat format adds around it. */
  readonly ofMessage: (message: Message) => number
  readonly ofTools: (tools: readonly ToolDefinition[]) => number
}

/** One stretch of a compacted context; places count from 0 in `ContextInput.messages`. */
export type ContextPart =
  /** Messages as they were, from a place up to another one. */
  | { readonly keep: readonly [from: number, to: number] }
  /** A tool's answer, with a handle in place of its output. */
  | { readonly at: number; readonly output: Json }
  /** A message of the user, shortened, with a handle. */
  | { readonly at: number; readonly text: string }
  /** The summary in place of the messages that left. */
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
  /** The number of messages it replaces; later messages follow unchanged. */
  readonly covers: number
  /** A short checksum of the authors of these messages: the record of another branch has another. */
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
  /** Its first author: `user`, `assistant`, or a tool. */
  readonly source: string
}

/**
 * The order in which pinned messages are given up when they are larger than the target; `open_calls` only if they are
 * larger than the window.
 */
export const unpinOrder = [
  'last_turn_results',
  'last_turns',
  'decisions',
  'goal',
  'newest_results',
  'open_calls',
] as const
export type Unpinned = (typeof unpinOrder)[number] | 'ids' | 'archives'

/** The messages that left, the messages that stayed, and the cost: the fields of `context_compacted`. */
export type CompactionReport = Readonly<z.infer<z.ZodObject<typeof compaction>>>
