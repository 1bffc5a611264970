import {
  needsOf,
  sharedWith,
  type OnDemandDefinition,
  permissionsOn,
  type AgentStore,
  type SeenAgent,
} from '../types.ts'
import type { AgentDefinition, RunnableAgent } from '#contracts/manifest/agent-definition.ts'
import {
  type AgentNeed,
  onDemandId,
  type AgentAdministrator,
} from '#runtime/session/types/agent-schedules.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { mayNameModel } from '#contracts/keys.ts'
import type { Clock } from '#contracts/sources.ts'
import type { PreparedAgent } from './wire-stored.ts'
import type { KnownPeople, RunnableDeps } from './runnable.ts'

export interface AgentAdministrationDeps extends KnownPeople, Pick<RunnableDeps, 'fullNameOf'> {
  readonly store: AgentStore
  readonly clock: Pick<Clock, 'nowMs'>
  readonly sha256: (text: string) => string
  /** Whether tools of a plugin, a server or the core have names that begin with this id. */
  readonly isTaken: (id: string) => Promise<boolean>
  readonly prepare: (
    agent: RunnableAgent,
    principal: string,
  ) => Promise<Pick<PreparedAgent, 'withheld' | 'unknown'>>
  /** Clears the lookups that were made before a change. */
  readonly forget: () => void
}

/** The most agents of a deployment. */
export const maxListed = 500
/** The most agents of one owner; operators have no such limit. */
const maxOwned = 50
/** The most ids of one owner, with the ids of deleted agents. */
const maxIds = 200
/** Ids that no agent may have. */
const reserved = new Set(['orchestrator', 'isola', 'default', 'agent', 'none', onDemandId])

/** A need as text. */
export const needText = ({ kind, what }: AgentNeed): string => `${kind} ${what}`

/** Refuses an agent above the limits. Ids of deleted agents count: they stay their owner's. */
export async function refuseMany(
  id: string,
  by: AgentAdministrator,
  { store }: Pick<AgentAdministrationDeps, 'store'>,
): Promise<void> {
  if (by.role === 'operator') return
  const { own, all, ids } = await store.count(by.principal, id)
  if (all >= maxListed) throw tooMany(`There are ${maxListed} agents already.`)
  if (own >= maxOwned)
    throw tooMany(`You have ${maxOwned} agents already; delete one that is not needed.`)
  if (ids >= maxIds)
    throw tooMany(`id: you have had ${maxIds} agents: take an id that one of them had.`)
}

/** Refuses an id or an acl that the caller may not choose, whatever the agent does. */
export async function refuseOthers(
  definition: AgentDefinition,
  {
    by,
    found,
    deps,
  }: {
    readonly by: AgentAdministrator
    readonly found: SeenAgent | undefined
    readonly deps: AgentAdministrationDeps
  },
): Promise<void> {
  const { id } = definition
  if (found && !permissionsOn(found, by).has('edit')) throw taken(id)
  if (!found && (reserved.has(id) || (await deps.isTaken(id)))) throw taken(id)
  if (by.agents && !by.agents.includes(id))
    throw forbidden(`id: this principal may talk to ${by.agents.join(', ')} and to no other agent.`)
  refuseSharing(definition, by, found)
}

/** Refuses a version whose model the owner may not name: the owner could not run it. */
export function refuseModel(
  { agent: { model } }: AgentDefinition,
  { owner, ownerModels }: Pick<SeenAgent, 'owner' | 'ownerModels'>,
  { fullNameOf }: Pick<AgentAdministrationDeps, 'fullNameOf'>,
): void {
  if (mayNameModel(ownerModels, model, fullNameOf)) return
  const message =
    `agent.model: ${owner}, whose agent it is, may not name "${model}". GET /v1/models lists ` +
    'what a key may name; an operator changes that (POST /api/operator/principals).'
  throw new IsolaError('request_invalid', message, { param: 'agent.model' })
}

/** A user's agent is shared with no other principal; an author proposes an acl, an operator decides. */
function refuseSharing(
  { acl }: AgentDefinition,
  { role }: AgentAdministrator,
  found: SeenAgent | undefined,
): void {
  const now = found?.inForce ? sharedWith(found.inForce.definition.acl) : []
  if (role !== 'user' || sharedWith(acl).every((line) => now.includes(line))) return
  throw forbidden('acl: a user’s agent is the user’s alone: leave acl out, or ask an operator.')
}

/** The tools of a definition that destroy or send out. Throws `request_invalid` for an unknown name. */
export async function toolsNeeded(
  { acl: _acl, schedule: _schedule, ...definition }: AgentDefinition,
  hash: string,
  { principal }: AgentAdministrator,
  { prepare }: Pick<AgentAdministrationDeps, 'prepare'>,
): Promise<readonly AgentNeed[]> {
  const prepared = await prepare({ definition, version: 0, hash, granted: [] }, principal).catch(
    (error: unknown) => {
      throw toInvalid(error)
    },
  )
  const [unknown] = prepared.unknown
  if (unknown !== undefined) {
    const param = `agent.uses_tools[${definition.agent.uses_tools.indexOf(unknown)}]`
    const message =
      `${param}: there is no plugin, tool or agent "${unknown}" here for you. Name an ` +
      'enabled plugin (kv), a tool (kv__get) or an agent (reviewer__run).'
    throw new IsolaError('request_invalid', message, { param })
  }
  return prepared.withheld.map((what) => ({ kind: 'tool', what }))
}

/** An error of the wiring, as an error of the request. */
function toInvalid(error: unknown): unknown {
  const code: unknown = Object(error).code
  if (code !== 'plugin_prompt_invalid' && code !== 'plugin_manifest_invalid') return error
  return new IsolaError('request_invalid', errorMessage(error), {
    param: code === 'plugin_prompt_invalid' ? 'agent.instructions' : 'agent',
  })
}

/**
 * An agent for one request. Refused if it needs an approval; an operator approves a tool by its full name in the
 * definition.
 */
export async function toOnDemand(
  about: OnDemandDefinition,
  by: AgentAdministrator,
  deps: AgentAdministrationDeps,
): Promise<RunnableAgent> {
  if (by.agents && !by.agents.includes(onDemandId))
    throw forbidden(`agent: this principal may talk to ${by.agents.join(', ')} alone.`)
  const definition = { id: onDemandId, ...about }
  const hash = deps.sha256(JSON.stringify(definition))
  const withNone = { ...definition, acl: { roles: {}, principals: {} } }
  const needs = [...needsOf(withNone), ...(await toolsNeeded(withNone, hash, by, deps))]
  const { uses_tools: named } = definition.agent
  const granted = needs.flatMap(({ kind, what }) =>
    kind === 'tool' && by.role === 'operator' && named.includes(what) ? [what] : [],
  )
  const refused = needs.find(
    ({ kind, what }) => (kind === 'tool' || by.role !== 'operator') && !granted.includes(what),
  )
  if (!refused) return { definition, version: 0, hash, granted }
  const how =
    by.role === 'operator'
      ? 'name it by its full name in agent.uses_tools'
      : 'leave it out, or have an operator approve a persistent agent (POST /api/agents)'
  throw forbidden(`agent: one on demand may not have ${needText(refused)}: ${how}.`)
}

/** A refusal with its reason: the caller may know of the agent. */
export const forbidden = (message: string) => new IsolaError('request_forbidden', message)
const tooMany = (message: string) => new IsolaError('request_conflict', message)
/** The message hides the owner. */
export const taken = (id: string) =>
  new IsolaError('request_conflict', `id: ${id} is taken. Choose another.`, { param: 'id' })
