import * as z from 'zod'
import { runLimits } from '#contracts/limits.ts'

/** Limits of a run under way: they replace limits of an agent's author, so they end where those do. */
export const changedLimits = runLimits.extend({
  maxDepth: z.int().min(0).max(16).optional(),
  maxConcurrency: z.int().min(1).max(64).optional(),
})
