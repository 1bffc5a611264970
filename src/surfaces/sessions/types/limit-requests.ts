import { runLimits } from '#contracts/limit-requests.ts'
import * as z from 'zod'

/** Of a run that is under way: they take the place of what an agent's author has set, so they end where those do. */
export const changedLimits = runLimits.extend({
  maxDepth: z.int().min(0).max(16).optional(),
  maxConcurrency: z.int().min(1).max(64).optional(),
})
