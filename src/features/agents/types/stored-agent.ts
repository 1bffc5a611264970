import type {
  StoredAgent,
  AgentHead,
  AgentVersion,
  AgentAdministrator,
} from '#runtime/session/types/stored-agent.ts'
import type { Role } from '#contracts/role.ts'
import type { AgentPermission, OnDemandDefinition } from './agent-definition.ts'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import type { RunnableAgent } from '#contracts/stored-agent.ts'

/** An agent in a list, without its definition. */
export interface ListedAgent extends Omit<StoredAgent, 'inForce' | 'behind'> {
  /** Absent while its first version waits. */
  readonly head?: AgentHead
  /** Whether its owner still has a key that holds. */
  readonly isOwnerHeld: boolean
  readonly ownerModels?: readonly string[]
}

/** The same with the caller's rights, by one query. */
export interface SeenAgent extends StoredAgent {
  /** The caller's role; absent where the table knows none. */
  readonly askerRole?: Role
  /** Whether its owner still has a key that holds. */
  readonly isOwnerHeld: boolean
  /** The models that its owner may name; absent: all. Its agents may name no other. */
  readonly ownerModels?: readonly string[]
}

export interface AgentSeer {
  readonly principal: string
  readonly nowMs: number
}

/** The caller of a list, and the permission that the list is for. */
interface AgentLooker extends AgentSeer {
  readonly may: Exclude<AgentPermission, 'edit'>
  /** The role that counts; absent: that of the table, or else `elseRole`. */
  readonly role?: Role | undefined
  readonly elseRole?: Role | undefined
}

/**
 * The tables of agents. Each change lands with its event, both or neither. A change whose expected state is out of
 * date changes nothing and answers false. Every verb may throw `request_unavailable`.
 */
export interface AgentStore {
  readonly find: (id: string, by: AgentSeer) => Promise<SeenAgent | undefined>
  /** The agents that the caller may see, or run, in the order of their ids. Reads no text. */
  readonly list: (by: AgentLooker, limit: number) => Promise<readonly ListedAgent[]>
  /**
   * How many agents an owner has, how many there are, and how many other ids the owner has taken, deleted agents
   * included.
   */
  readonly count: (
    owner: string,
    but: string,
  ) => Promise<{ readonly own: number; readonly all: number; readonly ids: number }>
  /** Newest first. */
  readonly versions: (id: string) => Promise<readonly AgentVersion[]>
  readonly version: (id: string, version: number) => Promise<AgentVersion | undefined>
  /** A new agent with its first version. False if the id is taken, also by a deleted agent of another owner. */
  readonly add: (agent: NewAgent, version: AgentVersion, event: DeploymentEvent) => Promise<boolean>
  /** The version after the newest, which runs from now on if it has been approved. Only so many of the last are kept, with the one in force. */
  readonly addVersion: (
    id: string,
    version: AgentVersion,
    event: DeploymentEvent,
  ) => Promise<boolean>
  /** Puts the waiting version in force. */
  readonly approve: (id: string, version: AgentVersion, event: DeploymentEvent) => Promise<boolean>
  /** Puts an earlier version in force again. */
  readonly rollBack: (id: string, version: AgentVersion, event: DeploymentEvent) => Promise<boolean>
  readonly setState: (
    id: string,
    state: StoredAgent['state'],
    event: DeploymentEvent,
  ) => Promise<boolean>
  /** Takes it away with its versions; its id stays its owner's. */
  readonly remove: (id: string, event: DeploymentEvent) => Promise<boolean>
}

type NewAgent = Pick<StoredAgent, 'id' | 'owner' | 'createdAtMs'>

/** The caller of a verb. */
interface AgentAsker {
  readonly principal: string
  readonly role: Role | undefined
}

/** The caller's permissions on an agent, by its version in force: its owner and operators have all, auditors see. */
export function permissionsOn(
  { owner, inForce }: Pick<StoredAgent, 'owner' | 'inForce'>,
  { principal, role }: AgentAsker,
): ReadonlySet<AgentPermission> {
  if (role === undefined) return new Set()
  if (principal === owner || role === 'operator') return new Set(['see', 'run', 'edit'])
  const { roles = {}, principals = {} } = inForce?.definition.acl ?? {}
  const byName = Object.hasOwn(principals, principal) ? (principals[principal] ?? []) : []
  const given = [...(roles[role] ?? []), ...byName]
  const isSeen = given.length > 0 || role === 'auditor'
  // An auditor runs no agent.
  const may = role === 'auditor' ? [] : given
  return new Set([...may, ...(isSeen ? (['see'] as const) : [])])
}

/** A definition as it was taken, or would be. */
export interface AppliedAgent {
  readonly agent: StoredAgent
  readonly version: AgentVersion
  /** False: the newest version has the same text, and nothing was done. */
  readonly isNew: boolean
}

/** Called with the agent as it would be, before anything is written: an error refuses the whole change. */
export type BeforeAgent = (agent: StoredAgent) => Promise<void>

/**
 * The verbs of agents. Throws `request_invalid`, `request_forbidden`, `request_conflict`, `request_unavailable` or
 * `request_not_found`, the same for an agent that does not exist and for an agent that the caller may not see.
 */
export interface AgentAdministration {
  /** Makes the agent or its next version. It runs at once unless it needs what an operator has not allowed. */
  readonly apply: (
    definition: AgentDefinition,
    by: AgentAdministrator,
    how?: { readonly isDryRun?: boolean; readonly from?: string; readonly first?: BeforeAgent },
  ) => Promise<AppliedAgent>
  /**
   * Makes a definition ready to run for one request. Refuses tools that destroy or go out, except for operators, who
   * name each of them.
   */
  readonly onDemand: (
    definition: OnDemandDefinition,
    by: AgentAdministrator,
  ) => Promise<RunnableAgent>
  readonly list: (by: AgentAdministrator) => Promise<readonly ListedAgent[]>
  readonly show: (id: string, by: AgentAdministrator) => Promise<StoredAgent>
  /** Newest first; empty for a caller who may neither edit nor audit the agent. */
  readonly versions: (id: string, by: AgentAdministrator) => Promise<readonly AgentVersion[]>
  readonly approve: (
    id: string,
    version: Pick<AgentVersion, 'version' | 'hash'>,
    by: AgentAdministrator,
    first?: BeforeAgent,
  ) => Promise<StoredAgent>
  readonly rollBack: (
    id: string,
    version: number,
    by: AgentAdministrator,
    first?: BeforeAgent,
  ) => Promise<StoredAgent>
  readonly setState: (
    id: string,
    state: StoredAgent['state'],
    by: AgentAdministrator,
  ) => Promise<StoredAgent>
  /** `first`: removes rows elsewhere before the agent itself, so that a removal that fails half-way can be repeated. */
  readonly remove: (
    id: string,
    by: AgentAdministrator,
    first: (agent: StoredAgent) => Promise<void>,
  ) => Promise<void>
}
