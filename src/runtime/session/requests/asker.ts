import { IsolaError } from '#contracts/errors.ts'
import type { Principal } from '#contracts/operations.ts'
import type { AgentAdministrator } from '../types/stored-agent.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { askerOf as scheduleAsker } from './own.ts'
import { checkModel, type Targets } from '#platform/routes/targets.ts'

/** The caller of a request about agents, with its rights. */
export function administratorOf({
  by,
  caller,
}: Pick<RequestContext, 'by' | 'caller'>): AgentAdministrator {
  const { role, agents } = caller
  return { ...by(), role, asker: scheduleAsker(caller), ...(agents && { agents }) }
}

/** An agent's author may give it no model that the author may not name. */
export function checkAgentModel(
  deps: Pick<Targets, 'models'>,
  caller: Principal,
  model: string,
): void {
  if (model === 'default') return
  try {
    for (const one of model.split(',')) checkModel(deps, caller, one.trim())
  } catch {
    const message = `agent.model: there is no model "${model}" here for you. GET /v1/models lists them; "default" is the deployment's own.`
    throw new IsolaError('request_invalid', message, { param: 'agent.model' })
  }
}
