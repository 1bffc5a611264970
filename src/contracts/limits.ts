import * as z from 'zod'
import { unlimited, type Limits } from './lease.ts'

/** Limits of amounts that add up over runs, so that a session can have them, too. */
export const additive = {
  maxTokens: z.int().min(1).optional(),
  maxCostUsd: z.number().min(0).max(1_000_000).optional(),
  maxPlatformUsd: z.number().min(0).max(1_000_000).optional(),
  maxTurns: z.int().min(1).optional(),
  maxToolCalls: z.int().min(0).optional(),
  maxChildren: z.int().min(0).optional(),
}

/**
 * Limits of a run: the additive limits that a session can have, too, its active time, and how deep and wide it may
 * go.
 */
export const runLimits = z.strictObject({
  ...additive,
  maxTimeMs: z.int().min(1).optional(),
  maxDepth: z.int().min(0).optional(),
  maxConcurrency: z.int().min(1).optional(),
})

/** The defaults of a manifest agent's `limits` (Y13). */
export const defaultAgentLimits: Limits = {
  maxTokens: 50_000,
  maxCostNanoUsd: unlimited,
  maxTimeMs: 120_000,
  maxTurns: 10,
  maxToolCalls: 50,
  maxChildren: 16,
  maxDepth: 4,
  maxConcurrency: 8,
}
