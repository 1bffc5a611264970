import * as z from 'zod'
import type { JsonObject } from '../json.ts'

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
