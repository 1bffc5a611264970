import * as z from 'zod'

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

/** Of a run that is under way: they take the place of what an agent's author has set, so they end where those do. */
export const changedLimits = runLimits.extend({
  maxDepth: z.int().min(0).max(16).optional(),
  maxConcurrency: z.int().min(1).max(64).optional(),
})
