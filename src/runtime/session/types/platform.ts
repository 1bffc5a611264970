import type { PlatformCount, PlatformAmounts } from '#contracts/platform.ts'

/** Counts the platform work of an object. */
export interface PlatformMeter extends PlatformCount {
  /** The amounts since the last call of `take`. The caller books them. */
  readonly take: () => PlatformAmounts
}
