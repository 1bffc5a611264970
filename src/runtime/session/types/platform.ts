import type { PlatformCount, PlatformAmounts } from '#contracts/platform.ts'

/** Counts what an object makes the platform do. */
export interface PlatformMeter extends PlatformCount {
  /** The amounts since the last call of `take`. The caller books them. */
  readonly take: () => PlatformAmounts
}
