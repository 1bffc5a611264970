import {
  needsOf,
  sharedWith,
  type AgentDefinition,
  type AgentNeed,
  type AgentPermission,
} from '#contracts/agent-definition.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { deploymentEvent } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'
import {
  onDemandId,
  permissionsOn,
  type AgentAdministration,
  type AgentAdministrator,
  type AgentStore,
  type AgentVersion,
  type RunnableAgent,
  type SeenAgent,
} from '#contracts/stored-agent.ts'
import type { PreparedAgent } from './prepare.ts'
import type { KnownPeople } from './runnable.ts'

export interface AgentAdministrationDeps extends KnownPeople {
  readonly store: AgentStore
  readonly clock: Pick<Clock, 'nowMs'>
  readonly sha256: (text: string) => string
  /** Whether tools of a plugin, a server or the core have names that begin with this id. */
  readonly isTaken: (id: string) => Promise<boolean>
  readonly prepare: (
    agent: RunnableAgent,
    principal: string,
  ) => Promise<Pick<PreparedAgent, 'withheld' | 'unknown'>>
  /** What was looked up before a change is not believed any more. */
  readonly forget: () => void
}

const maxListed = 500
/** Of one owner; an operator's are not counted. */
const maxOwned = 50
/** Names that no plugin has, and nobody else. */
const reserved = new Set(['orchestrator', 'isola', 'default', 'agent', 'none', onDemandId])

/** Agents that need no plugin, as people make and change them. */
export function createAgentAdministration(deps: AgentAdministrationDeps): AgentAdministration {
  const { store, clock, sha256, forget } = deps
  const seerOf = ({ principal }: AgentAdministrator) => ({ principal, nowMs: clock.nowMs() })
  const find = async (
    id: string,
    by: AgentAdministrator,
    permission: AgentPermission,
  ): Promise<SeenAgent> => {
    const found = await store.find(id, seerOf(by))
    const may: ReadonlySet<AgentPermission> = found ? permissionsOn(found, by) : new Set()
    if (!found || !may.has('see')) throw noSuchAgent()
    if (may.has(permission)) return found
    throw forbidden(`You may see ${id} and not ${permission} it.`)
  }
  const eventOf = <Type extends AgentEventType>(
    type: Type,
    by: AgentAdministrator,
    data: Parameters<typeof deploymentEvent<Type>>[2],
  ) => {
    const place = { principal: by.principal, trace: by.trace, atMs: clock.nowMs() }
    return deploymentEvent(type, place, { ...data, request: by.requestId })
  }
  const changed = async (
    done: Promise<boolean>,
    { id, by, problem }: { id: string; by: AgentAdministrator; problem: string },
  ): Promise<SeenAgent> => {
    const isDone = await done
    forget()
    if (!isDone) throw new IsolaError('request_conflict', problem)
    return find(id, by, 'see')
  }

  return {
    async apply(definition, by, { isDryRun = false, from } = {}) {
      const { id } = definition
      const found = await store.find(id, seerOf(by))
      if (found && !permissionsOn(found, by).has('edit')) throw taken(id)
      if (!found && (reserved.has(id) || (await deps.isTaken(id)))) throw taken(id)
      if (by.agents && !by.agents.includes(id))
        throw forbidden(
          `id: this principal may talk to ${by.agents.join(', ')} and to no other agent.`,
        )
      refuseSharing(definition, by, found)
      const hash = sha256(JSON.stringify(definition))
      const [newest] = found ? await store.versions(id) : []
      if (found && newest?.hash === hash) return { agent: found, version: newest, isNew: false }
      const needs = [...needsOf(definition), ...(await toolsNeeded(definition, hash, by, deps))]
      const nowMs = clock.nowMs()
      const isApproved = by.role === 'operator' || (needs.length === 0 && from === undefined)
      const version: AgentVersion = {
        version: (found?.newest ?? 0) + 1,
        hash,
        definition,
        createdBy: by.principal,
        createdAtMs: nowMs,
        needs,
        ...(isApproved && { approvedBy: by.principal, approvedAtMs: nowMs }),
        ...(from !== undefined && { from }),
      }
      const agent = found ?? { id, owner: by.principal, createdAtMs: nowMs }
      const made = {
        ...agent,
        state: found?.state ?? ('active' as const),
        newest: version.version,
        ...(isApproved && { inForce: version }),
      }
      if (isDryRun) return { agent: made, version, isNew: true }
      if (!found) await refuseMany(by)
      const about = {
        agent: id,
        version: version.version,
        hash,
        needs: needs.map(needText),
        isInForce: isApproved,
        ...(from !== undefined && { from }),
      }
      const done = found
        ? store.addVersion(id, version, eventOf('agent_changed', by, about))
        : store.add(agent, version, eventOf('agent_added', by, about))
      const isDone = await done
      forget()
      if (isDone) return { agent: made, version, isNew: true }
      throw found ? changedMeanwhile(id) : taken(id)
    },
    async onDemand(about, by) {
      if (by.agents && !by.agents.includes(onDemandId))
        throw forbidden(`agent: this principal may talk to ${by.agents.join(', ')} alone.`)
      const definition = { id: onDemandId, ...about }
      const hash = sha256(JSON.stringify(definition))
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
    },
    async list(by) {
      const all = await store.list(seerOf(by), maxListed)
      return all.filter((one) => permissionsOn(one, by).has('see'))
    },
    show: (id, by) => find(id, by, 'see'),
    async versions(id, by) {
      await find(id, by, 'see')
      return store.versions(id)
    },
    async approve(id, { version, hash }, by) {
      await find(id, by, 'edit')
      const wanted = (await store.versions(id)).find((one) => one.version === version)
      if (!wanted) throw noVersion(id, version)
      if (wanted.hash !== hash) throw changedMeanwhile(id)
      const approved = { ...wanted, approvedBy: by.principal, approvedAtMs: clock.nowMs() }
      const needs = wanted.needs.map(needText)
      const event = eventOf('agent_approved', by, { agent: id, version, hash, needs })
      const problem = `version: ${version} of ${id} does not wait for anybody. isola agent rollback takes an earlier one.`
      return changed(store.approve(id, approved, event), { id, by, problem })
    },
    async rollBack(id, version, by) {
      await find(id, by, 'edit')
      const wanted = (await store.versions(id)).find((one) => one.version === version)
      if (!wanted) throw noVersion(id, version)
      const event = eventOf('agent_rolled_back', by, { agent: id, version, hash: wanted.hash })
      const problem = `version: ${version} of ${id} is in force already, or waits for an operator.`
      return changed(store.rollBack(id, wanted, event), { id, by, problem })
    },
    async setState(id, state, by) {
      await find(id, by, 'edit')
      const type = state === 'archived' ? 'agent_archived' : 'agent_restored'
      const problem = `${id} is ${state} already.`
      return changed(store.setState(id, state, eventOf(type, by, { agent: id })), {
        id,
        by,
        problem,
      })
    },
    async remove(id, by) {
      const { owner } = await find(id, by, 'edit')
      if (owner !== by.principal && by.role !== 'operator')
        throw forbidden(`${id} is taken away by its owner or an operator.`)
      await store.remove(id, eventOf('agent_deleted', by, { agent: id }))
      forget()
    },
  }

  async function refuseMany(by: AgentAdministrator): Promise<void> {
    if (by.role === 'operator') return
    const all = await store.list(seerOf(by), maxListed)
    if (all.length >= maxListed) throw tooMany(`There are ${maxListed} agents already.`)
    const own = all.filter(({ owner }) => owner === by.principal)
    if (own.length >= maxOwned)
      throw tooMany(`You have ${maxOwned} agents already; delete one that is not needed.`)
  }
}

type AgentEventType =
  | 'agent_added'
  | 'agent_changed'
  | 'agent_approved'
  | 'agent_rolled_back'
  | 'agent_archived'
  | 'agent_restored'
  | 'agent_deleted'

const needText = ({ kind, what }: AgentNeed): string => `${kind} ${what}`

/** What a user makes is the user's alone; an author proposes whom it is shared with, and an operator says so. */
function refuseSharing(
  { acl }: AgentDefinition,
  { role }: AgentAdministrator,
  found: SeenAgent | undefined,
): void {
  const now = found?.inForce ? sharedWith(found.inForce.definition.acl) : []
  if (role !== 'user' || sharedWith(acl).every((line) => now.includes(line))) return
  throw forbidden('acl: a user’s agent is the user’s alone: leave acl out, or ask an operator.')
}

/** The tools of a definition that destroy or go out. Throws `request_invalid` for what it names and is not there. */
async function toolsNeeded(
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
    const message = `${param}: there is no plugin, tool or agent "${unknown}" here for you. Name an enabled plugin (kv), a tool (kv__get) or an agent (reviewer__run).`
    throw new IsolaError('request_invalid', message, { param })
  }
  return prepared.withheld.map((what) => ({ kind: 'tool', what }))
}

/** What wiring says of a prompt or a manifest is said of the request. */
function toInvalid(error: unknown): unknown {
  const code: unknown = Object(error).code
  if (code !== 'plugin_prompt_invalid' && code !== 'plugin_manifest_invalid') return error
  return new IsolaError('request_invalid', errorMessage(error), {
    param: code === 'plugin_prompt_invalid' ? 'agent.instructions' : 'agent',
  })
}

const noSuchAgent = () => new IsolaError('request_not_found', 'There is no such agent.')
const forbidden = (message: string) => new IsolaError('request_forbidden', message)
const tooMany = (message: string) => new IsolaError('request_conflict', message)
const taken = (id: string) =>
  new IsolaError('request_conflict', `id: ${id} is taken. Choose another.`, { param: 'id' })
const noVersion = (id: string, version: number) =>
  new IsolaError('request_invalid', `version: ${id} has no version ${version}.`, {
    param: 'version',
  })
const changedMeanwhile = (id: string) =>
  new IsolaError(
    'request_conflict',
    `${id} is another by now. Look again (isola agent show ${id}).`,
  )
