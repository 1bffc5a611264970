import * as z from 'zod'
import type { Limits } from '#contracts/lease.ts'

const nanoPerUsd = 1e9
/** What adds up over runs, so that a session can have a limit of it. */
const additive = {
  maxTokens: z.int().min(1).optional(),
  maxCostUsd: z.number().min(0).max(1_000_000).optional(),
  maxPlatformUsd: z.number().min(0).max(1_000_000).optional(),
  maxTurns: z.int().min(1).optional(),
  maxToolCalls: z.int().min(0).optional(),
  maxChildren: z.int().min(0).optional(),
}

/** Limits of a session: those that add up over its runs. */
export const sessionLimits = z.strictObject(additive)
/** Limits of a run: those of a session, its active time, and how deep and wide it may go. */
export const runLimits = z.strictObject({
  ...additive,
  maxTimeMs: z.int().min(1).optional(),
  maxDepth: z.int().min(0).optional(),
  maxConcurrency: z.int().min(1).optional(),
})

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
