import type { PlatformAmounts, PlatformUnit } from './platform.ts'

const unitsOf = (...of: readonly PlatformAmounts[]) =>
  [...new Set(of.flatMap((amounts) => Object.keys(amounts)))] as readonly PlatformUnit[]

export const plusPlatform = (a: PlatformAmounts = {}, b: PlatformAmounts = {}): PlatformAmounts =>
  Object.fromEntries(
    unitsOf(a, b)
      .map((unit) => [unit, (a[unit] ?? 0) + (b[unit] ?? 0)] as const)
      .filter(([, sum]) => sum !== 0),
  )
