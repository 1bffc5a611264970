import * as z from 'zod'
import { contextSettingsSchema } from '../context.ts'
import { handoffSchema } from './handoff.ts'
import type { JsonSchema } from '../json.ts'
import { knowledgeSettingsSchema } from './knowledge-settings.ts'
import { subscriptionManifests } from './manifest-events.ts'
import { memorySettingsSchema } from './memory-settings.ts'
import { sharedParts } from '../shared-parts.ts'

export const jsonSchema = z.custom<JsonSchema>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON Schema object',
)

const repeats = 'must be 0 (never) or 2 to 100'

const limits = z.lazy(() =>
  z.strictObject({
    max_turns: z.int().min(1).max(1_000).default(10),
    max_tokens_per_invocation: z.int().min(1).default(50_000),
    time_budget_ms: z.int().min(1).max(3_600_000).default(120_000),
    max_cost_usd: z.number().positive().optional(),
    /** The platform's own cost, as decision 0049 counts it. */
    max_platform_usd: z.number().positive().optional(),
    max_tool_calls: z.int().min(0).optional(),
    max_depth: z.int().min(0).max(16).optional(),
    max_concurrency: z.int().min(1).max(64).optional(),
    max_children: z.int().min(0).max(1_000).optional(),
    /** So often in a row, also in one turn, the same calls with the same results are taken for a loop; 0 never, 5 unless set. */
    max_repeats: z
      .union([z.literal(0), z.int().min(2, repeats).max(100, repeats)], repeats)
      .optional(),
  }),
)

/** The `agent` section, of a plugin and of an agent without one. */
export const agentManifest = z.lazy(() =>
  z.strictObject({
    integration_mode: z.enum(['tool', 'handoff']),
    /** `default`: whatever the deployment's default is. */
    model: z.string().min(1),
    instructions: z.string().min(1),
    /** Values for the instructions' template. */
    variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
    parameters: z
      .strictObject({
        temperature: z.number().min(0).max(2).optional(),
        top_p: z.number().min(0).max(1).optional(),
        max_output_tokens: z.int().min(1).optional(),
        seed: z.int().optional(),
        stop: z.array(z.string()).max(4).optional(),
        timeout_ms: z.int().min(1).optional(),
      })
      .default({}),
    uses_tools: z.array(z.string()).default([]),
    /** Taken out of `uses_tools` again: names, plugin ids, or the start of a name with * at the end. */
    disallowed_tools: z.array(z.string().min(1).max(100)).max(200).default([]),
    /** Its model writes code against its tools in place of calling them, where the plugin `code` is on. */
    code_mode: z.boolean().optional(),
    /** The caller's storage, memory and workspace that it uses in place of its own. */
    shares: z.array(z.enum(sharedParts)).max(sharedParts.length).default([]),
    /** It has `isola__emit_skill`, which keeps a draft of a skill for an operator. */
    allow_skill_emission: z.boolean().optional(),
    limits: limits.prefault({}),
    /** With `integration_mode: handoff`: the terms of its handoffs. */
    handoff: handoffSchema.optional(),
    output_schema: jsonSchema.optional(),
    context: contextSettingsSchema.optional(),
    memory: memorySettingsSchema.optional(),
    /** Events that begin a run of it. */
    subscribes: subscriptionManifests,
    knowledge: knowledgeSettingsSchema.optional(),
  }),
)
