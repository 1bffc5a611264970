import { toRequired, type IsThere } from '#runtime/catalog/types/skill.ts'
import type { AgentDirectory } from '../types/runtime.ts'
import { headOf } from '#contracts/cut.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import type { Sources } from '#contracts/sources.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import type { Principal } from '#contracts/operations.ts'
import type { AgentAdministrator } from '../types/agent-schedules.ts'
import { askerOf as scheduleAsker } from './own.ts'
import { checkModel, type Targets } from '#platform/routes/targets.ts'

/** Looks a requirement up among all enabled extensions, whichever agents have them. */
export function presenceIn({
  agents,
}: {
  readonly agents: Pick<AgentDirectory, 'toolNames'>
}): IsThere {
  const names = new Map<string, Promise<boolean>>()
  const isAny = async (wanted: string) => (await agents.toolNames([wanted])).length > 0
  return (requirement) => {
    const wanted = toRequired(requirement)
    const pattern = 'tool' in wanted ? wanted.tool : `${wanted.owner}__*`
    const known = names.get(pattern) ?? isAny(pattern)
    names.set(pattern, known)
    return known
  }
}

export interface RefusalDeps {
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

/** Puts an upload that is refused on the record too; if that cannot be written, it is refused all the same. */
export async function recordRefusal(
  { deploymentLog, sources }: RefusalDeps,
  { principal, trace, requestId }: ChangeBy,
  { asked, error }: { readonly asked: string; readonly error: unknown },
): Promise<void> {
  const code = errorCode(error)
  if (!code?.startsWith('plugin_')) return
  const data = { asked, code, why: headOf(errorMessage(error), 500), request: requestId }
  const event = { type: 'plugin_refused', principal, trace, data } as const
  await deploymentLog.append({ ...event, atMs: sources.clock.nowMs() }).catch(() => {})
}

/** The caller, for the record: an author installs, and enables nothing. */
export const changeBy = ({ by, caller }: RequestContext): ChangeBy => ({
  ...by(),
  mayEnable: caller.role === 'operator',
})

/** The caller of a request about agents, with its rights. */
export function administratorOf({ by, caller }: RequestContext): AgentAdministrator {
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
    const message =
      `agent.model: there is no model "${model}" here for you. GET ` +
      `/v1/models lists them; "default" is the deployment's own.`
    throw new IsolaError('request_invalid', message, { param: 'agent.model' })
  }
}
