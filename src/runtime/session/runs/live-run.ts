import type { RunOutcome } from '../types/run-view.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { RunWork } from './run-work.ts'

export interface LiveRun {
  readonly id: string
  /** Resolves once the run is accepted: its row is written. Rejects if it could not be. */
  readonly accepted: Promise<void>
  /** Resolves with the terminal result or with what the run waits for, after it is written. */
  readonly done: Promise<RunOutcome>
  readonly submission: RunRow['submission']
  /** False while it waits behind another run. */
  readonly isStarted: () => boolean
}

/** One that this object works on. */
export interface LiveEntry extends LiveRun {
  readonly change: RunWork['change']
  readonly abort: RunWork['abort']
}
