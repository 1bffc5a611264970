import type { PlatformCount, PlatformAmounts } from '#contracts/platform.ts'

/** Counts what an object makes the platform do. */
export interface PlatformMeter extends PlatformCount {
  /** What was counted since it was last asked, and is booked by who asks. */
  readonly take: () => PlatformAmounts
}
