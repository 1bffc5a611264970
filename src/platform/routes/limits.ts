import type * as z from 'zod'
import type { runLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'

const nanoPerUsd = 1e9

/** `undefined` if nothing is limited, so that `{}` and no `limits` are the same request. */
export function toLimits(
  asked: z.infer<typeof runLimits> | undefined,
): Partial<Limits> | undefined {
  const { maxCostUsd, maxPlatformUsd, ...rest } = asked ?? {}
  const given = Object.entries({
    ...rest,
    ...(maxCostUsd !== undefined && { maxCostNanoUsd: Math.round(maxCostUsd * nanoPerUsd) }),
    ...(maxPlatformUsd !== undefined && {
      maxPlatformNanoUsd: Math.round(maxPlatformUsd * nanoPerUsd),
    }),
  }).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given) // the same names, checked above
}
