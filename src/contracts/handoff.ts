import * as z from 'zod'

/** `agent.handoff` of a manifest: what one conversation may take, and who looks after it. */
export const handoffSchema = z.strictObject({
  /** Messages of the user that it may answer. */
  max_messages: z.int().min(1).max(1_000).default(50),
  /** Of all its messages together. */
  max_tokens: z.int().min(1).default(500_000),
  max_cost_usd: z.number().positive().optional(),
  /** So long after its last message it ends by itself. */
  timeout_ms: z.int().min(1_000).max(604_800_000).default(1_800_000),
  /** `model`: besides the rules, the orchestrator's model looks at each message before it is passed on. */
  monitor: z.enum(['rule', 'model']).default('rule'),
})
