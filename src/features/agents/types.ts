import * as z from 'zod'
import {
  about,
  section,
  type permission,
  type AgentDefinition,
  type RunnableAgent,
} from '#contracts/manifest/agent-definition.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { parseManifest, toLimits } from '#runtime/catalog/types/permit.ts'
import { defined } from '#contracts/defined.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type {
  AgentNeed,
  StoredAgent,
  AgentHead,
  AgentVersion,
  AgentAdministrator,
} from '#runtime/session/types/agent-schedules.ts'
import { diffLines, type LineDiff } from '#contracts/line-diff.ts'
import { valueLines } from '#features/skills/types.ts'
import type { Limits } from '#contracts/lease.ts'
import type { SharedPart, SharedFrom } from '#contracts/manifest/agent-manifest.ts'
import { type Sharing, keeperOf } from '#features/plugins/types/plugin-service.ts'
import type { Role } from '#contracts/keys.ts'
import type { DeploymentEvent } from '#contracts/event.ts'

/** An agent that lives for one request. Unknown keys are refused. */
export const onDemandDefinition = z.strictObject({
  name: about.name.default('On demand'),
  description: about.description.default('An agent on demand.'),
  agent: section.refine(({ subscribes }) => !subscribes?.length, {
    path: ['subscribes'],
    error: 'is of agents that are kept (POST /api/agents): one on demand does its task and is gone',
  }),
})

/** A permission on another principal's agent; `run` and `edit` include `see`. */
export type AgentPermission = z.infer<typeof permission>

export type OnDemandDefinition = z.infer<typeof onDemandDefinition>

/** The file that the instructions of a definition would be in. */
export const instructionsFile = 'instructions'

type About = Pick<AgentDefinition, 'id' | 'name' | 'description' | 'natural_language_description'>

/** A definition as a manifest of its own, so that what runs agents of plugins runs it. */
export const toManifest = (
  { agent, ...about }: About & Pick<AgentDefinition, 'agent'>,
  hash: string,
): Manifest => manifestOf(about, agent, hash)

/** The same for an agent whose definition was not read: from the fields of its head. */
export const headManifest = (
  { integration_mode, ...about }: About & Pick<AgentDefinition['agent'], 'integration_mode'>,
  hash: string,
): Manifest => manifestOf(about, { integration_mode, model: 'default' }, hash)

function manifestOf(
  { id, name, description, natural_language_description: natural }: About,
  agent: Partial<AgentDefinition['agent']>,
  hash: string,
): Manifest {
  return parseManifest(
    {
      id,
      name,
      description,
      ...defined({ natural_language_description: natural }),
      version: `1.0.0-${hash.slice(0, 12)}`,
      agent: { ...agent, instructions: instructionsFile },
    },
    `agent ${id}`,
  )
}

/** Limits beyond those that an agent has who says nothing of them. */
function longerLimits({ limits }: AgentDefinition['agent']): readonly string[] {
  const asked = toLimits(limits)
  const names = {
    max_turns: 'maxTurns',
    max_tokens_per_invocation: 'maxTokens',
    time_budget_ms: 'maxTimeMs',
    max_tool_calls: 'maxToolCalls',
    max_depth: 'maxDepth',
    max_concurrency: 'maxConcurrency',
    max_children: 'maxChildren',
  } as const
  return Object.entries(names).flatMap(([name, ours]) =>
    asked[ours] > defaultAgentLimits[ours] ? [`${name} ${asked[ours]}`] : [],
  )
}

/** The lines of an ACL, one for each principal or role. */
export const sharedWith = ({
  roles: byRole,
  principals,
}: AgentDefinition['acl']): readonly string[] => [
  ...Object.entries(byRole).map(([role, may]) => `role ${role}: ${may.join(', ')}`),
  ...Object.entries(principals).map(([name, may]) => `${name}: ${may.join(', ')}`),
]

/** The needs of a definition that an operator has to allow. Its tools are checked where the catalog is at hand. */
export function needsOf({ agent, acl }: AgentDefinition): readonly AgentNeed[] {
  const { memory, allow_skill_emission: emits } = agent
  return [
    ...longerLimits(agent).map((what) => ({ kind: 'limit', what }) as const),
    ...sharedWith(acl).map((what) => ({ kind: 'share', what }) as const),
    ...(memory?.scope.includes('deployment')
      ? [{ kind: 'memory', what: 'deployment' } as const]
      : []),
    ...(emits ? [{ kind: 'skills', what: 'allow_skill_emission' } as const] : []),
  ]
}

/**
 * The changes that only the owner may decide when another principal applies a definition: whom the agent is shared
 * with, and every schedule and subscription, since these run in the owner's name, by the owner's key.
 *
 * @param now The definition in force; absent: there is none.
 */
export function ownersMatters(
  next: AgentDefinition,
  now: AgentDefinition | undefined,
): readonly AgentNeed[] {
  const { acl, schedule: asked, agent } = next
  const matters = {
    schedule: asked !== undefined || now?.schedule !== undefined,
    subscribes: Boolean(agent.subscribes?.length || now?.agent.subscribes?.length),
    acl:
      sharedWith(acl).toSorted().join('\n') !==
      (now ? sharedWith(now.acl) : []).toSorted().join('\n'),
  }
  return Object.entries(matters).flatMap(([what, isOne]) =>
    isOne ? [{ kind: 'owner' as const, what }] : [],
  )
}

/** The differences between two definitions, a line each with its position. Order counts, of fields too. */
export const definitionDiff = (before: AgentDefinition, after: AgentDefinition): LineDiff =>
  diffLines(valueLines(before), valueLines(after))

/** The orchestrator's own: a million tokens and 15 minutes of active time. */
export const orchestratorLimits: Limits = {
  ...defaultAgentLimits,
  maxTokens: 1_000_000,
  maxTimeMs: 900_000,
  maxTurns: 100,
  maxToolCalls: 500,
  maxChildren: 100,
}

/**
 * The parts that a child shares with its caller: those its manifest declares and the caller itself has, so never
 * more.
 */
export const shareWith = (parts: readonly SharedPart[], caller: Sharing): SharedFrom =>
  Object.fromEntries(parts.map((part) => [part, keeperOf(part, caller)]))

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
  /**
   * The version after the newest, which runs from now on if it has been approved. Only so many of the last are
   * kept, with the one in force.
   */
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
