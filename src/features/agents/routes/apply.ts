import type * as z from 'zod'
import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import {
  toScheduled,
  type AgentSchedules,
  type StoredAgent,
} from '#runtime/session/types/agent-schedules.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { ScheduleAsker } from '#runtime/session/types/schedule.ts'
import type { AgentAdministration, AppliedAgent, BeforeAgent } from '../types.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { askerOf as scheduleAsker, changer } from '#runtime/session/requests/own.ts'
import { warningsOf } from '#platform/routes/limits.ts'
import type { Targets } from '#platform/routes/targets.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { administratorOf, checkAgentModel } from '#runtime/session/requests/asker.ts'
import { toListing, toVersion } from './replies.ts'
import { wasOnDemand, type OnDemandDeps } from './on-demand.ts'
import { agentRequest, type promoteAgentRequest } from './requests.ts'

/** The dependencies of a change to an agent: its schedules and subscriptions follow each version. */
export interface AgentDeps {
  readonly storedAgents: AgentAdministration
  readonly plugins: Pick<PluginAdministration, 'show'>
  readonly schedules: { readonly ofAgents: AgentSchedules }
  readonly models: Targets['models']
}

/** Puts an agent aside, or has it run again. */
export async function setState(
  deps: AgentDeps,
  context: RequestContext,
  state: StoredAgent['state'],
) {
  const id = context.params['agent'] ?? ''
  const agent = await deps.storedAgents.setState(id, state, administratorOf(context))
  await syncSchedule(deps, context, agent)
  return toListing(agent)
}

/**
 * Brings the schedule and subscriptions of the version in force in line, in the owner's name: by the key of this
 * request if the owner sends it, else by the key they had.
 */
export async function syncSchedule(
  deps: Pick<AgentDeps, 'schedules'>,
  context: RequestContext,
  agent: StoredAgent,
  written?: ScheduleAsker,
): Promise<void> {
  const asker = context.caller.id === agent.owner ? scheduleAsker(context.caller) : written
  await deps.schedules.ofAgents.sync(toScheduled(agent, asker), changer(context.by()))
}

/** A plugin that is off still owns its name: an agent of that name would keep it from coming back. */
async function refusePluginsId(
  deps: Pick<AgentDeps, 'plugins'>,
  { id, newest }: StoredAgent,
): Promise<void> {
  if (newest > 1) return
  const plugin = await deps.plugins.show(id)
  if (!plugin || plugin.state === 'removed') return
  throw new IsolaError('request_conflict', `id: ${id} is taken. Choose another.`, { param: 'id' })
}

/** Before an agent is changed: refuses a faulty schedule, with the name of the field. */
export const checkSchedule =
  (deps: Pick<AgentDeps, 'plugins' | 'schedules'>, context: RequestContext): BeforeAgent =>
  async (agent) => {
    await refusePluginsId(deps, agent)
    const { asker } = agent.inForce ?? {}
    const isOwn = context.caller.id === agent.owner
    const known = isOwn ? scheduleAsker(context.caller) : asker
    try {
      await deps.schedules.ofAgents.check(toScheduled(agent, known), changer(context.by()))
    } catch (error) {
      if (errorCode(error) !== 'request_invalid') throw error
      const message = `schedule.${errorMessage(error)}`
      const { param } = Object(error) as { readonly param?: string }
      throw new IsolaError('request_invalid', message, {
        ...(param !== undefined && { param: `schedule.${param}` }),
        cause: error,
      })
    }
  }

/**
 * Proposes an agent on demand with the fields that it lacks; it is not in force before an operator has looked at
 * it.
 */
export async function promoteAgent(
  deps: AgentDeps & Pick<OnDemandDeps, 'sessions'>,
  context: RequestContext,
  asked: z.output<typeof promoteAgentRequest>,
): Promise<Response> {
  const { session, run, limits, dryRun: isDryRun = false, ...about } = asked
  const { agent } = await wasOnDemand(deps, context.caller, { session, run })
  const definition = parseFields(agentRequest, {
    ...about,
    agent: { ...agent, ...(limits && { limits }) },
  })
  return applyDefinition(deps, context, { definition, from: session, isDryRun })
}

export async function applyDefinition(
  deps: AgentDeps,
  context: RequestContext,
  { definition, from, isDryRun }: AskedDefinition,
): Promise<Response> {
  checkAgentModel(deps, context.caller, definition.agent.model)
  const made = await deps.storedAgents.apply(definition, administratorOf(context), {
    isDryRun,
    first: checkSchedule(deps, context),
    ...(from !== undefined && { from }),
  })
  if (!isDryRun) await syncSchedule(deps, context, made.agent)
  return applied(made, { isDryRun, ...smallLimits(deps, definition) })
}

interface AskedDefinition {
  readonly definition: AgentDefinition
  /** The session of the agent on demand that it was. */
  readonly from?: string
  readonly isDryRun: boolean
}

const smallLimits = (deps: Pick<AgentDeps, 'models'>, { agent: { limits } }: AgentDefinition) =>
  warningsOf(deps, {
    tokens: {
      field: 'agent.limits.max_tokens_per_invocation',
      limit: limits?.max_tokens_per_invocation,
    },
    costUsd: { field: 'agent.limits.max_cost_usd', limit: limits?.max_cost_usd },
  })

function applied(
  made: AppliedAgent,
  { isDryRun, ...warned }: { readonly isDryRun: boolean; readonly warnings?: readonly string[] },
): Response {
  const { agent, version, isNew } = made
  const shown = { ...toListing(agent), isNew, applied: toVersion(version, agent), ...warned }
  if (isDryRun || !isNew) return jsonResponse(shown)
  const headers = { location: `/api/agents/${agent.id}` }
  return jsonResponse(shown, { status: 201, headers })
}
