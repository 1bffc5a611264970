import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { HttpDeps, HttpModels } from './deps.ts'

/** The one agent the kernel itself creates. */
export const orchestrator = 'orchestrator'

export interface Target {
  readonly agent: string
  readonly model?: string
}

/** What `model` means on `/v1`: an agent, else a model that this deployment serves, run by the orchestrator. */
export function resolveTarget(deps: HttpDeps, model: string): Target {
  return hasAgent(deps, model)
    ? { agent: model }
    : { agent: orchestrator, model: checkModel(deps, model) }
}

export function agentNames(deps: HttpDeps): readonly string[] {
  const names = deps.agents.list().map((agent) => agent.name)
  return [orchestrator, ...names.filter((name) => name !== orchestrator)]
}

export function hasAgent(deps: HttpDeps, agent: string): boolean {
  return agent === orchestrator || deps.agents.list().some((known) => known.name === agent)
}

/** Throws `request_model_not_found` for a model that only a substitute would answer. */
export function checkModel(deps: HttpDeps, model: string): string {
  if (isServed(deps.models, model)) return model
  const message = 'There is no such model or agent. GET /v1/models lists them.'
  throw new IsolaError('request_model_not_found', message, { param: 'model' })
}

export function isServed(models: HttpModels, model: string): boolean {
  if (models.list().some((listing) => listing.id === model)) return true
  try {
    return !models.provider.select(model).substituted
  } catch (error) {
    if (errorCode(error) === 'model_not_configured') return false
    throw error
  }
}
