import type { BuiltContext } from './context.ts'
import type { Compaction } from '#contracts/context.ts'
import type { RunInput } from './kernel.ts'
import type { Usage } from '#contracts/lease.ts'
import type { PlannerState } from './plan.ts'

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
