import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type DeploymentEventData, type DeploymentLog } from '#contracts/event.ts'
import type { LongTermMemory, MemoryGateway } from '#contracts/long-term.ts'
import type { Principal } from '#contracts/operations.ts'
import type { Sources } from '#contracts/sources.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import type { Where } from './places.ts'

export interface MemoryDeps {
  readonly memory: MemoryGateway
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

/** The notes of the deployment, or those of the caller. */
export const memoryAt = (
  memory: MemoryGateway,
  { id }: Pick<Principal, 'id'>,
  { scope }: Where,
): LongTermMemory => (scope === 'deployment' ? memory.ofDeployment() : memory.ofPrincipal(id))

/** The same, to change them: an operator alone changes notes of the deployment. */
export function changeableAt(
  memory: MemoryGateway,
  caller: Pick<Principal, 'id' | 'role'>,
  where: Where,
): LongTermMemory {
  if (where.scope === 'deployment' && caller.role !== 'operator') {
    const message = 'scope: what the deployment remembers is an operator’s to change.'
    throw new IsolaError('request_forbidden', message, { param: 'scope' })
  }
  return memoryAt(memory, caller, where)
}

/** Puts a change on the record: how much, never what. */
export async function tellMemory(
  { deploymentLog, sources }: Omit<MemoryDeps, 'memory'>,
  { by }: Pick<RequestContext, 'by'>,
  { owner, ...change }: Omit<DeploymentEventData<'memory_changed'>, 'owner'> & { owner?: string },
): Promise<void> {
  const { principal, trace, requestId: request } = by()
  const place = { principal, trace, atMs: sources.clock.nowMs() }
  const data = { owner: owner ?? principal, ...change, request }
  await deploymentLog.append(deploymentEvent('memory_changed', place, data))
}
