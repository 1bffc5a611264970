import type { Clock } from '#contracts/sources.ts'

/** A clock whose sleeps take no time and are written down. */
export function createManualClock(
  startMs = 1_800_000_000_000,
): Clock & { readonly slept: readonly number[] } {
  const slept: number[] = []
  let nowMs = startMs
  return {
    slept,
    nowMs: () => nowMs,
    sleep: async (ms) => {
      slept.push(ms)
      nowMs += ms
    },
  }
}
