import { errorCode, IsolaError } from '#contracts/errors.ts'
import { mayNameModel, type Rights } from '#contracts/keys.ts'
import type { Principal } from '#contracts/operations.ts'
import type { AgentDescriptor } from '#contracts/agent.ts'
import type { RunnableAgent } from '#contracts/manifest/agent-definition.ts'
import type { ModelListing, ModelStatus } from '#platform/models/types.ts'
import type { ModelProvider } from '#contracts/model.ts'

/** The one agent the kernel itself creates. */
export const orchestrator = 'orchestrator'

/** The models of the deployment: the model that answers, the list of `/v1/models`, and their state. */
export interface HttpModels {
  readonly provider: ModelProvider
  readonly list: () => readonly ModelListing[]
  readonly status: () => readonly ModelStatus[]
}

/** The agents of the deployment, by name. */
export interface KnownAgents {
  readonly list: () => readonly AgentDescriptor[]
  /**
   * An agent without a plugin, if a principal may run it now, in the version that would run. Absent where the
   * deployment has none. May throw `request_unavailable`.
   */
  readonly runnable?: (principal: string, id: string) => Promise<RunnableAgent | undefined>
  /** Whether a principal may know of an agent of this id that needs no plugin, run it or not. May throw the same. */
  readonly isSeen?: (principal: string, id: string) => Promise<boolean>
}

/** The lists in which a name of an agent or a model is looked up. */
export interface Targets {
  readonly agents: KnownAgents
  /** Brings `agents` up to date; with the name of an unknown agent, without a cache. Never throws. */
  readonly refreshAgents?: (agent?: string) => Promise<void>
  readonly models: HttpModels
}

/** The target of a request: an agent, and the model that the request names, if any. */
export interface Target {
  readonly agent: string
  readonly model?: string
}

/** The agents and models that a caller may use. A name outside of it is answered like a name that does not exist. */
export type Reach = Pick<Rights, 'agents' | 'models'>
/** The same with the caller's id. */
export type CallerReach = Reach & Pick<Principal, 'id'>

/** The meaning of `model` on `/v1`: an agent, else a model that this deployment serves, run by the orchestrator. */
export async function resolveTarget(
  deps: Targets,
  reach: CallerReach,
  model: string,
): Promise<Target> {
  const isAgent = isServed(deps.models, model)
    ? hasAgent(deps, reach, model) || (await isUnlistedAgent(deps, reach, model))
    : await lookForAgent(deps, reach, model)
  if (isAgent) return { agent: model }
  if (!hasAgent(deps, reach, orchestrator)) throw noSuchModel()
  return { agent: orchestrator, model: checkModel(deps, reach, model) }
}

/** The agents that a caller may use, the orchestrator first. */
export function agentNames(deps: Targets, { agents }: Reach): readonly string[] {
  const names = deps.agents.list().map((agent) => agent.name)
  const all = [orchestrator, ...names.filter((name) => name !== orchestrator)]
  return agents ? all.filter((name) => agents.includes(name)) : all
}

/**
 * Whether this agent exists: also an agent without a plugin, and an agent that is not loaded yet, since it may have
 * been enabled a moment ago.
 */
export async function lookForAgent(
  deps: Targets,
  reach: CallerReach,
  agent: string,
): Promise<boolean> {
  if (hasAgent(deps, reach, agent)) return true
  if (await isStored(deps, reach, agent)) return true
  await deps.refreshAgents?.(agent)
  return hasAgent(deps, reach, agent)
}

/**
 * A server that takes any name proves nothing about this name: an agent of that name comes first. A request that
 * names a listed model needs no query, and a database that is away blocks no model. Throws `request_model_not_found`
 * for an agent that waits for its approval or is off, so that no model answers in its name.
 */
async function isUnlistedAgent(deps: Targets, reach: CallerReach, model: string): Promise<boolean> {
  if (isListed(deps.models, model)) return false
  const no = () => false
  if (await isStored(deps, reach, model).catch(no)) return true
  if (mayBeStored(reach, model) && (await deps.agents.isSeen?.(reach.id, model).catch(no)))
    throw noSuchModel()
  return false
}

/** Whether it is an agent without a plugin that the caller may run. */
const isStored = async (deps: Targets, reach: CallerReach, agent: string): Promise<boolean> =>
  mayBeStored(reach, agent) && (await deps.agents.runnable?.(reach.id, agent)) !== undefined

const mayBeStored = ({ agents }: CallerReach, agent: string): boolean =>
  agents?.includes(agent) !== false && /^[a-z][a-z0-9-]{0,23}$/.test(agent)

const isListed = (models: HttpModels, model: string): boolean =>
  models.list().some(({ id }) => id === model || id.endsWith(`/${model}`))

/** Whether this agent exists, and the caller may talk to it. */
export function hasAgent(deps: Targets, reach: Reach, agent: string): boolean {
  return agentNames(deps, reach).includes(agent)
}

/** The models that may be named: none without the orchestrator, which runs them. */
export function modelListings(deps: Targets, reach: Reach) {
  if (!hasAgent(deps, reach, orchestrator)) return []
  return deps.models.list().filter(({ id }) => mayName(deps.models, reach, id))
}

/** Throws `request_model_not_found` for a model that only a substitute would answer, or that may not be named. */
export function checkModel(deps: Pick<Targets, 'models'>, reach: Reach, model: string): string {
  if (isServed(deps.models, model) && mayName(deps.models, reach, model)) return model
  throw noSuchModel()
}

/** Whether some provider has this model, with or without the provider's name before it. */
export function isServed(models: HttpModels, model: string): boolean {
  return models.list().some(({ id }) => id === model) || fullName(models, model) !== undefined
}

/** However it is written: with its provider or without. */
function mayName(models: HttpModels, { models: allowed }: Reach, model: string): boolean {
  return mayNameModel(allowed, model, (one) => fullName(models, one))
}

/** The model for requests that name none; `undefined` if none is configured. */
export function selectedModel({
  models,
}: {
  readonly models: Pick<HttpModels, 'provider'>
}): string | undefined {
  try {
    const { provider, model } = models.provider.select(undefined)
    return `${provider}/${model}`
  } catch (error) {
    if (errorCode(error) === 'model_not_configured') return undefined
    throw error
  }
}

/** `<provider>/<model>`; `undefined` for one that only a substitute would answer. */
export function fullName(models: Pick<HttpModels, 'provider'>, asked: string): string | undefined {
  try {
    const { provider, model, substituted } = models.provider.select(asked)
    return substituted ? undefined : `${provider}/${model}`
  } catch (error) {
    if (errorCode(error) === 'model_not_configured') return undefined
    throw error
  }
}

/** The same for a missing model and for a model that the caller may not name. */
export function noSuchModel(): IsolaError {
  return new IsolaError(
    'request_model_not_found',
    'There is no such model or agent. GET /v1/models lists them.',
    { param: 'model' },
  )
}
