import { minus } from '#runtime/kernel/types/lease.ts'
import { type Usage, plusPlatform, unlimited, type Limits } from '#contracts/lease.ts'
import type { PlatformAmounts, PlatformUnit } from '#contracts/platform.ts'
import { platformPrices } from '#platform/d1/types.ts'

/** The given limits; every other dimension is unlimited. */
export const onlyLimited = (some: Partial<Limits> = {}): Limits => ({ ...noLimits, ...some })

const noLimits: Required<Limits> = {
  maxTokens: unlimited,
  maxCostNanoUsd: unlimited,
  maxPlatformNanoUsd: unlimited,
  maxTimeMs: unlimited,
  maxTurns: unlimited,
  maxToolCalls: unlimited,
  maxChildren: unlimited,
  maxDepth: unlimited,
  maxConcurrency: unlimited,
}

/** @returns Whole billionths of a US dollar; below zero for a correction. */
export function platformCostNanoUsd(amounts: PlatformAmounts): number {
  const units = Object.entries(amounts) as [PlatformUnit, number][]
  return Math.round(units.reduce((sum, [unit, amount]) => sum + amount * platformPrices[unit], 0))
}

/**
 * CPU cannot be read on the platform, so these are assumed, set on 2026-11-22: milliseconds that a request to an
 * object, a turn and a call take. An estimate, and no more.
 */
const cpuMsOf = { request: 1, turn: 3, call: 1 } as const

/** An estimate of CPU time for so many requests and turns. */
export const cpuEstimate = (of: {
  readonly requests: number
  readonly turns: number
  readonly calls: number
}): PlatformAmounts => ({
  cpuMs: of.requests * cpuMsOf.request + of.turns * cpuMsOf.turn + of.calls * cpuMsOf.call,
})

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
