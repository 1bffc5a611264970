import { IsolaError } from '#contracts/errors.ts'
import type { AgentAdministrator } from '#contracts/stored-agent.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { administrator } from '#platform/routes/administrator.ts'
import { askerOf as scheduleAsker } from '#features/schedules/routes/own.ts'
import { checkModel } from '#platform/routes/targets.ts'

/** Who asks, with what they may. */
export function askerOf(deps: HttpDeps, context: HttpContext): AgentAdministrator {
  const { role, agents } = context.get('principal')
  const asker = scheduleAsker(context)
  return { ...administrator(deps, context), role, asker, ...(agents && { agents }) }
}

/** An agent's model is named by whoever writes it: what they may not name, it may not have. */
export function checkAgentModel(deps: HttpDeps, context: HttpContext, model: string): void {
  if (model === 'default') return
  try {
    for (const one of model.split(',')) checkModel(deps, context.get('principal'), one.trim())
  } catch {
    const message = `agent.model: there is no model "${model}" here for you. GET /v1/models lists them; "default" is the deployment's own.`
    throw new IsolaError('request_invalid', message, { param: 'agent.model' })
  }
}
