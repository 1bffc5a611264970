import type { JsonSchema, JsonObject } from '#contracts/json.ts'
import type { AgentDescriptor } from '#contracts/agent.ts'
import type { Exposure } from '#runtime/catalog/types/generation.ts'
import type { Offers } from '#contracts/manifest/manifest-offers.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'

/** The meaning of one name in `tools/list`. */
export interface OfferedTool {
  readonly kind: 'agent' | 'tool' | 'run_status' | 'run_cancel'
  /** The agent, or the full name of the tool. */
  readonly target: string
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations: JsonObject
}

/** The input of every agent as a tool. */
const agentInput: JsonSchema = {
  type: 'object',
  properties: {
    task: { type: 'string', minLength: 1, description: 'What is to be done, complete.' },
    session: {
      type: 'string',
      description: 'Goes on with an earlier conversation: the `session` that a call answered.',
    },
    background: {
      type: 'boolean',
      description: 'Answer the id of the run at once; isola__run_status has what came of it.',
    },
  },
  required: ['task'],
  additionalProperties: false,
}

/** A run as it stands. */
const agentResult: JsonSchema = {
  type: 'object',
  properties: {
    session: { type: 'string' },
    run: { type: 'string' },
    state: {
      type: 'string',
      enum: ['queued', 'running', 'parked', 'completed', 'stopped', 'failed', 'cancelled'],
    },
    result: { type: 'string' },
    output: { type: 'object' },
    error: { type: 'object' },
    waits_for: { type: 'array', items: { type: 'object' } },
  },
  required: ['session', 'run', 'state'],
}

const runInput: JsonSchema = {
  type: 'object',
  properties: {
    session: { type: 'string', description: 'The session of the run.' },
    run: { type: 'string', description: 'The id of the run.' },
  },
  required: ['session', 'run'],
  additionalProperties: false,
}

const runTool = (
  kind: 'run_status' | 'run_cancel',
  description: string,
  annotations: OfferedTool['annotations'],
): OfferedTool => ({
  kind,
  target: kind,
  name: `isola__${kind}`,
  description,
  inputSchema: runInput,
  annotations,
})

/**
 * The tools for work that takes longer than one answer. Only for the caller's own runs; an unknown run and another
 * principal's run look alike.
 */
const runTools: readonly OfferedTool[] = [
  runTool('run_status', 'How a run stands, and what came of it when it is over.', {
    readOnlyHint: true,
    idempotentHint: true,
  }),
  runTool('run_cancel', 'Ends a run that is not over.', {
    readOnlyHint: false,
    idempotentHint: true,
    destructiveHint: false,
  }),
]

/** The parts of the deployment that the caller may see. */
export interface Inventory {
  readonly exposed: Exposure
  /** The agents that the caller may talk to. */
  readonly agents: readonly AgentDescriptor[]
  /** Every tool; none if the caller may not talk to the orchestrator, whose they are. */
  readonly tools: readonly ListedTool[]
  readonly offers: Offers
  /** Names of skills; none likewise. */
  readonly skills: readonly string[]
}

/**
 * The caller's list: tools that the operator named, and that its key may use. A fixed order, and every name once:
 * agents and our own tools keep their names, and a tool whose bare name is taken, or is another tool's full name,
 * goes by its full name.
 */
export function offeredTools(inventory: Inventory): readonly OfferedTool[] {
  const { exposed, agents, tools } = inventory
  const taken = new Map<string, OfferedTool>()
  const add = (tool: OfferedTool) => {
    if (!taken.has(tool.name)) taken.set(tool.name, tool)
  }
  const named = exposed.agents.toSorted()
  for (const agent of agents.filter(({ name }) => named.includes(name))) add(agentTool(agent))
  const chosen = tools.filter(({ name }) => isMatchOfAny(name, exposed.tools))
  if (taken.size + chosen.length > 0) runTools.forEach(add)
  const full = new Set(tools.map(({ name }) => name))
  for (const tool of chosen.toSorted(byName)) {
    const bare = isMatchOfAny(tool.name, exposed.bare_names) ? bareName(tool.name) : tool.name
    add(directTool(tool, taken.has(bare) || full.has(bare) ? tool.name : bare))
  }
  return [...taken.values()]
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : 1

const bareName = (name: string): string => name.slice(name.indexOf('__') + 2) || name

const agentTool = ({ name, description }: AgentDescriptor): OfferedTool => ({
  kind: 'agent',
  target: name,
  name,
  description,
  inputSchema: agentInput,
  outputSchema: agentResult,
  annotations: { readOnlyHint: false, openWorldHint: true },
})

/**
 * The schema goes out as it is; hints only as far as the host goes by them. That a tool destroys nothing is no such
 * hint:
 * left out it may, for a client.
 */
function directTool(tool: ListedTool, name: string): OfferedTool {
  const { description, inputSchema, isReadOnly, isIdempotent, isDestructive } = tool
  const annotations = {
    readOnlyHint: isReadOnly,
    idempotentHint: isIdempotent,
    // A hint that the tool's author left out stays out: clients have the same default as we.
    ...(isDestructive === true && { destructiveHint: true }),
  }
  return { kind: 'tool', target: tool.name, name, description, inputSchema, annotations }
}
