import * as z from 'zod'
import type { JsonObject, JsonSchema } from '../json.ts'
import { memoryScopes } from '../long-term.ts'
import { contextSettingsSchema } from '../context.ts'
import { subscriptionManifests } from '../event-bus.ts'

/** `agent.handoff` of a manifest: the limits of one handoff, and its monitor. */
export const handoffSchema = z.lazy(() =>
  z.strictObject({
    /** Messages of the user that it may answer. */
    max_messages: z.int().min(1).max(1_000).default(50),
    /** Of all its messages together. */
    max_tokens: z.int().min(1).default(500_000),
    max_cost_usd: z.number().positive().optional(),
    /** So long after its last message it ends by itself. */
    timeout_ms: z.int().min(1_000).max(604_800_000).default(1_800_000),
    /** `model`: besides the rules, the orchestrator's model looks at each message before it is passed on. */
    monitor: z.enum(['rule', 'model']).default('rule'),
  }),
)

type Refuse = z.RefinementCtx
const refuse = (context: Refuse, path: string, message: string) =>
  context.addIssue({ code: 'custom', path: [path], message })

/**
 * An agent that answers a person has no output schema; an agent that never keeps the conversation has no handoff
 * terms.
 */
export function checkAgentHandoff(
  agent: {
    readonly integration_mode: 'tool' | 'handoff'
    readonly handoff?: unknown
    readonly output_schema?: unknown
  },
  context: Refuse,
): void {
  const isHandoff = agent.integration_mode === 'handoff'
  if (agent.handoff && !isHandoff) refuse(context, 'handoff', 'goes with integration_mode: handoff')
  if (agent.output_schema && isHandoff)
    refuse(context, 'output_schema', 'goes with integration_mode: tool: here a person is answered')
}

/** A message is all that a tool is given that has the conversation. */
export function checkToolHandoff(
  tool: { readonly handoff?: unknown; readonly input_schema: JsonObject },
  context: Refuse,
): void {
  const { properties, required = [] } = tool.input_schema
  const isFit = Object.hasOwn(Object(properties), 'message')
  const others = [required].flat().filter((name) => name !== 'message')
  if (tool.handoff && (!isFit || others.length > 0))
    refuse(context, 'input_schema', 'must have "message", and require nothing else, with handoff')
}

/** `agent.knowledge` of a manifest: whose documents an agent looks things up in. */
const knowledgeSettingsSchema = z.lazy(() =>
  z.strictObject({
    /** The documents that `knowledge__search` finds for it; all three scopes if the section is left out. */
    scope: z
      .array(z.enum(memoryScopes))
      .min(1)
      .max(3)
      .default(['principal', 'agent', 'deployment']),
    /** Passages that fit what was asked, shown before its first turn; none by default: it looks them up. */
    hydrate: z.int().min(0).max(10).default(0),
  }),
)

/** An agent's access to documents. */
export type KnowledgeSettings = Readonly<z.infer<typeof knowledgeSettingsSchema>>

/** `agent.memory` of a manifest: the reminders that an agent gets, and the memory that its tools reach. */
const memorySettingsSchema = z.lazy(() =>
  z.strictObject({
    /** The scopes of its reminders and its tools. It stores notes in the first of them that it may write. */
    scope: z.array(z.enum(memoryScopes)).min(1).max(3).default(['principal', 'agent']),
    /** Before its first turn: notes that fit what was asked, the newest, or none. */
    hydrate: z.enum(['search', 'recent', 'none']).default('search'),
    /** After a run that completed: stores the task and the answer, or nothing. */
    write: z.enum(['turns', 'none']).default('none'),
    budget: z
      .strictObject({
        /** The estimated tokens of its reminders. */
        tokens: z.int().min(50).max(8_000).default(800),
        /** Notes that a run may write. */
        notes: z.int().min(0).max(100).default(20),
      })
      .prefault({}),
    /** Short-term notes by key, for the length of the session, beside the scratchpad; the oldest go first. */
    streams: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
        z.strictObject({
          max_items: z.int().min(1).max(1_000).default(100),
          /** Of all its notes together. */
          max_chars: z.int().min(100).max(200_000).default(20_000),
        }),
      )
      .refine((streams) => Object.keys(streams).length <= 8, 'at most 8 streams')
      .optional(),
  }),
)

/** An agent's long-term memory. */
export type MemorySettings = Readonly<z.infer<typeof memorySettingsSchema>>

/**
 * Storage of a session that a sub-agent may share with its caller, each part by the grant that opens it: `storage` is
 * the plugin storage of scope `session`.
 */
const sharedParts = ['workspace', 'memory', 'storage'] as const
export type SharedPart = (typeof sharedParts)[number]

/** The session whose storage an agent uses, for each shared part. A part that is left out is the agent's own (N5). */
export type SharedFrom = Readonly<Partial<Record<SharedPart, string>>>

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
    /**
     * So often in a row, also in one turn, the same calls with the same results are taken for a loop; 0 never, 5
     * unless set.
     */
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
