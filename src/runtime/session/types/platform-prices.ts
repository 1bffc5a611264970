import type { PlatformAmounts, PlatformUnit } from '#contracts/platform.ts'
import { platformPrices } from '#platform/d1/types.ts'

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
