/**
 * A principal's daily limits where they differ from the deployment's, and when they were read. They travel with a
 * submission, so that a run that starts at once need not look them up again.
 */
export interface OwnLimits {
  readonly tokens?: number
  readonly costNanoUsd?: number
  /** Epoch milliseconds. */
  readonly asOfMs: number
}
