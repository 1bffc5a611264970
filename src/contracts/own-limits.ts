/**
 * What a principal's day has where that is not what the deployment sets, and when this was read. It travels with a
 * submission, so that a run that starts at once need not look it up again.
 */
export interface OwnLimits {
  readonly tokens?: number
  readonly costNanoUsd?: number
  /** Epoch milliseconds. */
  readonly asOfMs: number
}
