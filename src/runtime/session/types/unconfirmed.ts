import type { ModelAmount } from '#contracts/lease.ts'

/** The reservation of a failed attempt that may have reached a provider, and its real spending. */
export interface AttemptSettlement {
  readonly held: ModelAmount
  readonly spent: ModelAmount
}

/**
 * The settlement of an attempt: of a run's own attempt by its place in the log, of a run below by the settlement of its
 * session.
 */
export type ConfirmRequest = {
  readonly run: string
  /** Names the attempt in every run that it is booked with. */
  readonly id: string
  /** True: checks whether this is possible, and writes nothing. */
  readonly isLook?: true
} & (
  | {
      readonly seq: number
      /** The whole reservation if absent. */
      readonly spent?: Partial<ModelAmount>
    }
  | { readonly settlement: AttemptSettlement }
)

/** The attempt as its run has it now, and the run above that it is booked with as well. */
export interface ConfirmedAttempt {
  readonly settlement: AttemptSettlement
  /** True if it was not settled before. */
  readonly isNew: boolean
  readonly principal: string
  readonly agent: string
  readonly above?: { readonly session: string; readonly run: string }
}
