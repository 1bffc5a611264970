import type { AgentDescriptor } from '#contracts/agent.ts'
import type { Exposure } from '#runtime/catalog/types/exposure.ts'
import type { Offers } from '#contracts/manifest/offer.ts'
import type { ListedTool } from '#runtime/session/types/runtime.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import type { OfferedTool } from './offered-tool.ts'
import { agentInput, agentResult, runTools } from './own-tools.ts'

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
 * The schema goes out as it is; hints only as far as the host goes by them. That a tool destroys nothing is no such hint:
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
