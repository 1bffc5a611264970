import type { AgentVersion, StoredAgent } from '#runtime/session/types/agent-schedules.ts'
import type { ListedAgent } from '../types.ts'
import type { AgentListing, AgentVersionView } from './replies.ts'

/** An agent as the API shows it. */
export const toListing = ({ inForce, ...agent }: StoredAgent): AgentListing => {
  const { version, hash, definition } = inForce ?? {}
  return toRow({
    ...agent,
    ...(definition && version && hash && { head: { ...definition, version, hash } }),
  })
}

/** A row of the list of agents. */
export function toRow({
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

/** A version as the API shows it. */
export function toVersion(
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
