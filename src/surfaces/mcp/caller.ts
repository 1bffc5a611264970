import { offeredSkills, type Exposure } from '#runtime/catalog/types/generation.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import type { SessionTask, Asker } from '#runtime/session/types/session-entry.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import type { McpDeps } from './deps.ts'
import { hasApprove } from '#runtime/session/requests/for-others.ts'
import { agentNames, orchestrator } from '#platform/routes/targets.ts'
import type { Inventory } from './offered.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** The caller of one request, and its inventory. */
export interface McpClient {
  readonly principal: string
  readonly asker: Asker
  readonly mayApprove: boolean
  /** The fields that every submission of this request shares. */
  readonly asks: Pick<SessionTask, 'trace' | 'traceLink' | 'pauses'>
  readonly inventory: Inventory
  /** Goes on when the connection is closed. */
  readonly keepAlive: (work: Promise<unknown>) => void
}

/** The caller at `/mcp`, with the agents, tools, resources, prompts and skills that it may use. */
export async function callerOf(deps: McpDeps, context: RequestContext): Promise<McpClient> {
  const asker = context.caller
  const { exposed } = await deps.plugins.exposed()
  const names = agentNames(deps, asker)
  const known = deps.agents.list()
  const agents = names.flatMap((name) => known.find((agent) => agent.name === name) ?? [])
  const isOrchestrators = names.includes(orchestrator)
  const nothing = { resources: [], prompts: [] }
  return {
    principal: asker.id,
    asker,
    mayApprove: hasApprove(asker),
    asks: { ...context.trace(), pauses: 'park' },
    inventory: {
      exposed,
      agents,
      tools: isOrchestrators ? await toolsFor(deps, exposed) : [],
      offers: isOrchestrators
        ? await deps.agents.offers([...exposed.resources, ...exposed.prompts])
        : nothing,
      skills: isOrchestrators ? offeredSkills(exposed) : [],
    },
    keepAlive: (work) => context.keepAlive(work),
  }
}

/** The exposed tools, and those whose full name another tool would have without its owner's name. */
async function toolsFor({ agents }: McpDeps, exposed: Exposure): Promise<readonly ListedTool[]> {
  const chosen = await agents.tools(exposed.tools)
  const bare = chosen
    .filter(({ name }) => isMatchOfAny(name, exposed.bare_names))
    .map(({ name }) => name.slice(name.indexOf('__') + 2))
    .filter((name) => name.includes('__'))
  return bare.length === 0 ? chosen : [...chosen, ...(await agents.tools(bare))]
}
