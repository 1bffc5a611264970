import type { Ask, Asker } from '#contracts/submit-as.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { readTrace } from '../headers.ts'
import { agentNames, orchestrator } from '../targets.ts'
import type { Inventory } from './offered.ts'

/** On whose behalf one request is answered, and what that one is offered. */
export interface McpCaller {
  readonly principal: string
  readonly asker: Asker
  /** What everything that this request asks of a session says. */
  readonly asks: Pick<Ask, 'trace' | 'traceLink' | 'pauses'>
  readonly inventory: Inventory
  /** Goes on when the connection is closed. */
  readonly keepAlive: (work: Promise<unknown>) => void
}

/** Who asks at `/mcp`, with the agents, tools, resources and prompts that are theirs to use. */
export async function callerOf(deps: HttpDeps, context: HttpContext): Promise<McpCaller> {
  const asker = context.get('principal')
  const { exposed } = await deps.plugins.exposed()
  const names = agentNames(deps, asker)
  const known = deps.agents.list()
  const agents = names.flatMap((name) => known.find((agent) => agent.name === name) ?? [])
  const isOrchestrators = names.includes(orchestrator)
  const nothing = { resources: [], prompts: [] }
  return {
    principal: asker.id,
    asker,
    asks: { ...readTrace(context, deps.sources), pauses: 'park' },
    inventory: {
      exposed,
      agents,
      tools: isOrchestrators ? deps.agents.tools() : [],
      offers: isOrchestrators ? deps.agents.offers() : nothing,
    },
    keepAlive: (work) => keepAlive(context, work),
  }
}

/** Without this what follows a closed connection would be dropped with it. In tests there is no such context. */
function keepAlive(context: HttpContext, work: Promise<unknown>): void {
  const settled = work.catch(() => undefined)
  try {
    context.executionCtx.waitUntil(settled)
  } catch {
    // there is none to tell
  }
}
