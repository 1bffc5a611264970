import type { AgentListing, AgentVersionView } from './agents-contract.ts'
import {
  agentDiffQuery,
  agentRequest,
  approveAgentRequest,
  promoteAgentRequest,
  rollBackAgentRequest,
} from './agents-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import { definitionDiff } from '../types/agent-diff.ts'
import { toScheduled } from '#runtime/session/types/agent-schedules.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { ScheduleAsker } from '#contracts/schedule.ts'
import type {
  AgentVersion,
  BeforeAgent,
  AppliedAgent,
  ListedAgent,
  StoredAgent,
} from '#contracts/stored-agent.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { warningsOf } from '#platform/routes/small-limits.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { askerOf as scheduleAsker, changer } from '#features/schedules/routes/own.ts'
import { askerOf, checkAgentModel } from './asker.ts'
import { runOnDemand, wasOnDemand } from './on-demand.ts'

/** `/api/agents…`: agents that need no plugin. */
export function addAgentRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const { storedAgents: agents } = deps
  const by = (context: HttpContext) => askerOf(deps, context)
  const idIn = (context: HttpContext) => context.req.param('agent') ?? ''
  const nothingIn = async (context: HttpContext) =>
    void parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const setState = (state: StoredAgent['state']) => async (context: HttpContext) => {
    await nothingIn(context)
    const agent = await agents.setState(idIn(context), state, by(context))
    await syncSchedule(deps, context, agent)
    return jsonResponse(toListing(agent))
  }
  addRoute('/api/agents', {
    GET: async (context) => jsonResponse({ agents: (await agents.list(by(context))).map(toRow) }),
    POST: (context) => applyAgent(deps, context),
  })
  addRoute('/api/agents/on-demand', { POST: (context) => runOnDemand(deps, context) })
  addRoute('/api/agents/promote', { POST: (context) => promoteAgent(deps, context) })
  addRoute('/api/agents/:agent', {
    async GET(context) {
      const [id, asker] = [idIn(context), by(context)]
      const agent = await agents.show(id, asker)
      const versions = await agents.versions(id, asker)
      return jsonResponse({
        ...toListing(agent),
        versions: versions.map((one) => toVersion(one, agent)),
      })
    },
    async DELETE(context) {
      const id = idIn(context)
      await agents.remove(id, by(context), ({ owner }) =>
        deps.schedules.ofAgents.removed({ id, owner }, changer(deps, context)),
      )
      return jsonResponse({ id, deleted: true })
    },
  })
  addRoute('/api/agents/:agent/diff', {
    async GET(context) {
      const { from, to } = parseFields(agentDiffQuery, context.req.query())
      const versions = await agents.versions(idIn(context), by(context))
      const find = (wanted: number | undefined, param: string) => {
        const found = versions.find(({ version }) => version === (wanted ?? versions[0]?.version))
        if (found) return found
        const message = `${param}: there is no version ${wanted}. isola agent show lists them.`
        throw new IsolaError('request_invalid', message, { param })
      }
      const newer = find(to, 'to')
      const older = find(from ?? Math.max(1, newer.version - 1), 'from')
      const lines = definitionDiff(older.definition, newer.definition)
      return jsonResponse({ from: older.version, to: newer.version, ...lines })
    },
  })
  addRoute('/api/agents/:agent/rollback', {
    async POST(context) {
      const asked = parseFields(rollBackAgentRequest, await readJsonObject(context.req.raw))
      const agent = await agents.rollBack(
        idIn(context),
        asked.version,
        by(context),
        checkSchedule(deps, context),
      )
      await syncSchedule(deps, context, agent)
      return jsonResponse(toListing(agent))
    },
  })
  addRoute('/api/agents/:agent/archive', { POST: setState('archived') })
  addRoute('/api/agents/:agent/restore', { POST: setState('active') })
  addRoute('/api/agents/:agent/approve', {
    async POST(context) {
      const asked = parseFields(approveAgentRequest, await readJsonObject(context.req.raw))
      const agent = await agents.approve(
        idIn(context),
        asked,
        by(context),
        checkSchedule(deps, context),
      )
      // What was approved is what its owner wrote, by the key that was used then.
      await syncSchedule(deps, context, agent, agent.inForce?.asker)
      return jsonResponse(toListing(agent))
    },
  })
}

/** What the version in force schedules and subscribes to, in the owner's name: by the key the owner asks with now, else by the one it had. */
async function syncSchedule(
  deps: HttpDeps,
  context: HttpContext,
  agent: StoredAgent,
  written?: ScheduleAsker,
): Promise<void> {
  const asker = context.get('principal').id === agent.owner ? scheduleAsker(context) : written
  await deps.schedules.ofAgents.sync(toScheduled(agent, asker), changer(deps, context))
}

/** One that is off has its name all the same: it would not come back. */
async function refusePluginsId(deps: HttpDeps, { id, newest }: StoredAgent): Promise<void> {
  if (newest > 1) return
  const plugin = await deps.plugins.show(id)
  if (!plugin || plugin.state === 'removed') return
  throw new IsolaError('request_conflict', `id: ${id} is taken. Choose another.`, { param: 'id' })
}

/** Before an agent is changed: what its schedule is refused for, with the field as it is called there. */
const checkSchedule =
  (deps: HttpDeps, context: HttpContext): BeforeAgent =>
  async (agent) => {
    await refusePluginsId(deps, agent)
    const { asker } = agent.inForce ?? {}
    const isOwn = context.get('principal').id === agent.owner
    const known = isOwn ? scheduleAsker(context) : asker
    try {
      await deps.schedules.ofAgents.check(toScheduled(agent, known), changer(deps, context))
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

async function applyAgent(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const body = await readJsonObject(context.req.raw)
  const { dryRun: isDryRun = false, ...definition } = parseFields(agentRequest, body)
  return applyDefinition(deps, context, { definition, isDryRun })
}

/** What it was with what it lacks; it is not in force before an operator has looked at it. */
async function promoteAgent(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const asked = parseFields(promoteAgentRequest, await readJsonObject(context.req.raw))
  const { session, run, limits, dryRun: isDryRun = false, ...about } = asked
  const { agent } = await wasOnDemand(deps, context, { session, run })
  const definition = parseFields(agentRequest, {
    ...about,
    agent: { ...agent, ...(limits && { limits }) },
  })
  return applyDefinition(deps, context, { definition, from: session, isDryRun })
}

async function applyDefinition(
  deps: HttpDeps,
  context: HttpContext,
  { definition, from, isDryRun }: AskedDefinition,
): Promise<Response> {
  checkAgentModel(deps, context, definition.agent.model)
  const made = await deps.storedAgents.apply(definition, askerOf(deps, context), {
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

const smallLimits = (deps: HttpDeps, { agent: { limits } }: AgentDefinition) =>
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

const toListing = ({ inForce, ...agent }: StoredAgent): AgentListing => {
  const { version, hash, definition } = inForce ?? {}
  return toRow({
    ...agent,
    ...(definition && version && hash && { head: { ...definition, version, hash } }),
  })
}

function toRow({
  id,
  owner,
  state,
  head,
  newest,
  createdAtMs,
}: Omit<ListedAgent, 'isOwnerHeld'>): AgentListing {
  const { name, description, version } = head ?? {}
  return {
    id,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    owner,
    state: state === 'active' && !head ? 'waiting' : state,
    ...(version !== undefined && { version }),
    newest,
    createdAtMs,
  }
}

function toVersion(
  { asker: _asker, ...version }: AgentVersion,
  { inForce }: StoredAgent,
): AgentVersionView {
  const { approvedBy, needs, definition } = version
  const isNow = inForce?.version === version.version
  return {
    ...version,
    state: isNow ? 'in force' : approvedBy === undefined ? 'waiting' : 'earlier',
    needs: needs.map(({ kind, what }) => `${kind} ${what}`),
    definition: { ...definition },
  }
}
