import { minus } from '#runtime/kernel/types/lease.ts'
import { type Usage, plusPlatform } from '#contracts/lease.ts'
import { platformCostNanoUsd } from './platform-prices.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'

/** The usage in `all` beyond `part`. */
export function usageBeyond(all: Usage, part: Usage): Usage {
  return {
    ...minus(all, part),
    inputTokens: all.inputTokens - part.inputTokens,
    outputTokens: all.outputTokens - part.outputTokens,
    modelCalls: all.modelCalls - part.modelCalls,
    timeMs: all.timeMs - part.timeMs,
    ...((all.unconfirmed ?? part.unconfirmed) && {
      unconfirmed: {
        tokens: (all.unconfirmed?.tokens ?? 0) - (part.unconfirmed?.tokens ?? 0),
        costNanoUsd: (all.unconfirmed?.costNanoUsd ?? 0) - (part.unconfirmed?.costNanoUsd ?? 0),
      },
    }),
    ...((all.platform ?? part.platform) && {
      platform: minusPlatform(all.platform, part.platform),
    }),
  }
}

/** Amounts and their price. */
export const platformUsage = (platform: PlatformAmounts) => ({
  platform,
  platformNanoUsd: platformCostNanoUsd(platform),
})

export const minusPlatform = (a: PlatformAmounts = {}, b: PlatformAmounts = {}): PlatformAmounts =>
  plusPlatform(a, Object.fromEntries(Object.entries(b).map(([unit, amount]) => [unit, -amount])))
