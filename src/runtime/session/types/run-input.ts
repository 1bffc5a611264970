import type { Decider, Decision } from '#runtime/kernel/types/pause.ts'
import type { RunPlace } from './follow-run.ts'
import type { Limits } from '#contracts/lease.ts'
import type { PauseView, RunView } from './run-view.ts'
import type { SteerReceipt } from './submission.ts'

/** The sender of an input for an existing run. */
interface Speaker {
  /** The owner of the session. The input is recorded in this name. */
  readonly principal: string
  /** The real sender, if another principal. Its right to do so is the caller's check. */
  readonly by?: string
}

/** The sender of a decision about a waiting call. The session checks whether this principal may decide. */
interface Decides extends Speaker {
  readonly decider: Decider
}

/** Input for a run that is not over. Each verb throws the refusals of the session. */
export interface RunInput {
  /** Adds a message, which the run's next turn reads. The same key adds it once. */
  readonly steer: (
    speaker: Speaker,
    run: RunPlace,
    said: { readonly text: string; readonly key: string | undefined },
  ) => Promise<SteerReceipt>
  /**
   * Settles a waiting call. Another principal's approval covers exactly the call that waits now. `settled` is that
   * call, if it was looked up; absent if it was settled before.
   */
  readonly decide: (
    speaker: Decides,
    run: RunPlace,
    decided: { readonly call: string; readonly decision: Decision },
  ) => Promise<{ readonly view: RunView; readonly settled?: PauseView | undefined }>
  /**
   * Raises or lowers the limits of a run: its owner within the principal's day, an operator beyond it. Throws
   * `request_forbidden` with the highest amount that is allowed.
   */
  readonly changeLimits: (
    speaker: Speaker,
    run: RunPlace,
    change: { readonly limits: Partial<Limits>; readonly isOperator: boolean },
  ) => Promise<RunView>
  /** `wasOver`: the run had already ended. Checked only if another principal cancels. */
  readonly cancel: (
    speaker: Speaker,
    run: RunPlace,
    reason: string | undefined,
  ) => Promise<{ readonly view: RunView; readonly wasOver: boolean }>
}
