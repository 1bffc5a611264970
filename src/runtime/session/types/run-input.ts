import type { Decider } from '#runtime/kernel/types/approval.ts'
import type { RunPlace } from './follow-run.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import type { PauseView, RunView } from './run-view.ts'
import type { SteerReceipt } from './submission.ts'

/** Somebody who says something to a run that is there. */
interface Speaker {
  /** Whose session it is: in that name it is said. */
  readonly principal: string
  /** Who says it, where that is somebody else. Whether they may is settled by whoever calls. */
  readonly by?: string
}

/** Somebody who decides about a call that waits; the session looks whether that one may. */
interface Decides extends Speaker {
  readonly decider: Decider
}

/** What somebody outside says to a run that is not over. Each throws what the session refused. */
export interface RunInput {
  /** Another message, which the run's next turn sees. The same key says it once. */
  readonly steer: (
    speaker: Speaker,
    run: RunPlace,
    said: { readonly text: string; readonly key: string | undefined },
  ) => Promise<SteerReceipt>
  /**
   * Settles a call that waits. What somebody else approves is exactly what it waits for now. `settled` is what it waited
   * for, where that had to be looked at; absent if it was settled before.
   */
  readonly decide: (
    speaker: Decides,
    run: RunPlace,
    decided: { readonly call: string; readonly decision: Decision },
  ) => Promise<{ readonly view: RunView; readonly settled?: PauseView | undefined }>
  /**
   * Raises or lowers its limits: its owner as far as the day of its principal goes, an operator beyond that. Throws
   * `request_forbidden` with how far that is.
   */
  readonly changeLimits: (
    speaker: Speaker,
    run: RunPlace,
    change: { readonly limits: Partial<Limits>; readonly isOperator: boolean },
  ) => Promise<RunView>
  /** `wasOver`: it had ended, and stays as it ended; looked at only where somebody else cancels. */
  readonly cancel: (
    speaker: Speaker,
    run: RunPlace,
    reason: string | undefined,
  ) => Promise<{ readonly view: RunView; readonly wasOver: boolean }>
}
