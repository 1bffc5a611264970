import { defined } from '#contracts/defined.ts'
import {
  needsOf,
  ownersMatters,
  type AgentPermission,
  permissionsOn,
  type AgentAdministration,
  type SeenAgent,
} from '../types.ts'
import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'
import type {
  AgentAdministrator,
  AgentVersion,
  StoredAgent,
} from '#runtime/session/types/agent-schedules.ts'
import {
  forbidden,
  maxListed,
  needText,
  refuseMany,
  refuseModel,
  refuseOthers,
  taken,
  toOnDemand,
  toolsNeeded,
  type AgentAdministrationDeps,
} from './taking.ts'

/** Makes and changes stored agents. */
export function createAgentAdministration(deps: AgentAdministrationDeps): AgentAdministration {
  const { store, clock, sha256, forget } = deps
  const seerOf = seeing(clock)
  const find = async (
    id: string,
    by: AgentAdministrator,
    permission: AgentPermission,
  ): Promise<SeenAgent> => {
    const found = await store.find(id, seerOf(by))
    const may: ReadonlySet<AgentPermission> =
      found && isNamed(by, id) ? permissionsOn(found, by) : new Set()
    if (!found || !may.has('see')) throw noSuchAgent()
    if (may.has(permission)) return found
    throw forbidden(`You may see ${id} and not ${permission} it.`)
  }
  const eventOf = createEvents(clock)
  const versionOf = async (id: string, version: number, by: AgentAdministrator) => {
    const agent = await find(id, by, 'edit')
    const wanted = await store.version(id, version)
    if (wanted) return { agent, wanted }
    throw noVersion(id, version)
  }
  const changed = async (
    done: Promise<boolean>,
    { id, by, problem }: Changing,
  ): Promise<SeenAgent> => {
    const isDone = await done
    forget()
    if (!isDone) throw new IsolaError('request_conflict', problem)
    return find(id, by, 'see')
  }

  return {
    async apply(definition, by, { isDryRun = false, from, first } = {}) {
      const { id } = definition
      const found = await store.find(id, seerOf(by))
      await refuseOthers(definition, { by, found, deps })
      if (found) refuseModel(definition, found, deps)
      const hash = sha256(JSON.stringify(definition))
      const newest = found && (await store.version(id, found.newest))
      if (found && newest?.hash === hash) return { agent: found, version: newest, isNew: false }
      const drafting = { by, found, from, hash, deps }
      const { agent, version, isApproved } = await draft(definition, drafting)
      const made = {
        ...agent,
        state: found?.state ?? ('active' as const),
        newest: version.version,
        behind: (found?.behind ?? 0) + 1,
        ...(isApproved && { inForce: version }),
      }
      // A version that waits for approval is checked as if it were in force: an impossible version is refused at once.
      await first?.({ ...made, inForce: version })
      if (isDryRun) return { agent: made, version, isNew: true }
      if (!found) await refuseMany(id, by, deps)
      const about = toldOf({ ...made, inForce: version }, isApproved)
      const done = found
        ? store.addVersion(id, version, eventOf('agent_changed', by, about))
        : store.add(agent, version, eventOf('agent_added', by, about))
      const isDone = await done
      forget()
      if (isDone) return { agent: made, version, isNew: true }
      throw found ? changedMeanwhile(id) : taken(id)
    },
    onDemand: (about, by) => toOnDemand(about, by, deps),
    async list(by) {
      const { role } = by
      const all = await store.list({ ...seerOf(by), may: 'see', role }, maxListed)
      return all.filter(({ id }) => isNamed(by, id))
    },
    show: (id, by) => find(id, by, 'see'),
    async versions(id, by) {
      const found = await find(id, by, 'see')
      // Drafts, the acl and the places of delivery are hidden from a principal that may only run the agent.
      const mayRead = by.role === 'auditor' || permissionsOn(found, by).has('edit')
      return mayRead ? store.versions(id) : []
    },
    async approve(id, { version, hash }, by, first) {
      const { agent, wanted } = await versionOf(id, version, by)
      if (wanted.hash !== hash) throw changedMeanwhile(id)
      refuseApproval(agent, wanted, by)
      refuseModel(wanted.definition, agent, deps)
      await first?.({ ...agent, inForce: wanted })
      const approved = { ...wanted, approvedBy: by.principal, approvedAtMs: clock.nowMs() }
      const needs = wanted.needs.map(needText)
      const event = eventOf('agent_approved', by, { agent: id, version, hash, needs })
      const problem =
        `version: ${version} of ${id} does not wait for anybody. isola agent rollback takes ` +
        'an earlier one.'
      return changed(store.approve(id, approved, event), { id, by, problem })
    },
    async rollBack(id, version, by, first) {
      const { agent, wanted } = await versionOf(id, version, by)
      const matters = ownersMatters(wanted.definition, agent.inForce?.definition)
      if (!isOwners(agent, by) && matters.length > 0)
        throw forbidden(
          `version: ${version} of ${id} decides its ${matters.map(({ what }) => what).join(', ')}: ` +
            'its owner or an operator takes it.',
        )
      refuseModel(wanted.definition, agent, deps)
      await first?.({ ...agent, inForce: wanted })
      const event = eventOf('agent_rolled_back', by, { agent: id, version, hash: wanted.hash })
      const problem = `version: ${version} of ${id} is in force already, or waits for an operator.`
      return changed(store.rollBack(id, wanted, event), { id, by, problem })
    },
    async setState(id, state, by) {
      const { inForce, ...agent } = await find(id, by, 'edit')
      if (state === 'active' && inForce) refuseModel(inForce.definition, agent, deps)
      const type = state === 'archived' ? 'agent_archived' : 'agent_restored'
      const problem = `${id} is ${state} already.`
      const event = eventOf(type, by, { agent: id })
      return changed(store.setState(id, state, event), { id, by, problem })
    },
    async remove(id, by, first) {
      const agent = await find(id, by, 'edit')
      if (!isOwners(agent, by)) throw forbidden(`${id} is taken away by its owner or an operator.`)
      await first(agent)
      await store.remove(id, eventOf('agent_deleted', by, { agent: id }))
      forget()
    },
  }
}

/** The data of the event about a new version. */
const toldOf = (
  { id, inForce: { version, hash, needs, from } }: StoredAgent & { readonly inForce: AgentVersion },
  isInForce: boolean,
) => ({
  agent: id,
  version,
  hash,
  needs: needs.map(needText),
  isInForce,
  ...defined({ from }),
})

interface Drafting {
  readonly by: AgentAdministrator
  readonly found: SeenAgent | undefined
  readonly from: string | undefined
  readonly hash: string
  readonly deps: AgentAdministrationDeps
}

/** The next version, with the needs that an operator has to allow. */
async function draft(definition: AgentDefinition, { by, found, from, hash, deps }: Drafting) {
  const needs = [
    ...needsOf(definition),
    ...(await toolsNeeded(definition, hash, by, deps)),
    ...(found && !isOwners(found, by) ? ownersMatters(definition, found.inForce?.definition) : []),
  ]
  const nowMs = deps.clock.nowMs()
  const { id } = definition
  const agent = found ?? { id, owner: by.principal, createdAtMs: nowMs }
  const isApproved = by.role === 'operator' || (needs.length === 0 && from === undefined)
  // Scheduled runs use the key of the owner's last version, also where another principal wrote this one.
  const asker = agent.owner === by.principal ? by.asker : found?.inForce?.asker
  const version: AgentVersion = {
    version: (found?.newest ?? 0) + 1,
    hash,
    definition,
    needs,
    createdBy: by.principal,
    createdAtMs: nowMs,
    ...(isApproved && { approvedBy: by.principal, approvedAtMs: nowMs }),
    ...defined({ from, asker }),
  }
  return { agent, version, isApproved }
}

/** Whether the caller is the agent's owner or an operator. */
const isOwners = (
  { owner }: Pick<SeenAgent, 'owner'>,
  { principal, role }: AgentAdministrator,
): boolean => owner === principal || role === 'operator'

/** Whether the caller's key may name this agent. */
const isNamed = ({ agents }: AgentAdministrator, id: string): boolean =>
  agents?.includes(id) !== false

/**
 * An owner approves another editor's version that needs the owner's consent alone; other versions wait for an
 * operator.
 */
function refuseApproval(
  agent: SeenAgent,
  { version, needs, from }: AgentVersion,
  by: AgentAdministrator,
): void {
  if (by.role === 'operator') return
  const isOwn = agent.owner === by.principal
  const others = needs.filter(({ kind }) => kind !== 'owner').map(needText)
  if (isOwn && others.length === 0 && needs.length > 0 && from === undefined) return
  const what = isOwn && others.length > 0 ? ` (${others.join(', ')})` : ''
  throw forbidden(`version: ${version} of ${agent.id} waits for an operator${what}.`)
}

interface Changing {
  readonly id: string
  readonly by: AgentAdministrator
  readonly problem: string
}

const seeing =
  ({ nowMs }: Pick<Clock, 'nowMs'>) =>
  ({ principal }: AgentAdministrator) => ({ principal, nowMs: nowMs() })

type AgentEventType =
  | 'agent_added'
  | 'agent_changed'
  | 'agent_approved'
  | 'agent_rolled_back'
  | 'agent_archived'
  | 'agent_restored'
  | 'agent_deleted'

/** Makes the event of a change, with its author. */
const createEvents =
  ({ nowMs }: Pick<Clock, 'nowMs'>) =>
  <Type extends AgentEventType>(
    type: Type,
    by: AgentAdministrator,
    data: Parameters<typeof deploymentEvent<Type>>[2],
  ) => {
    const place = { principal: by.principal, trace: by.trace, atMs: nowMs() }
    return deploymentEvent(type, place, { ...data, request: by.requestId })
  }

const noSuchAgent = () => new IsolaError('request_not_found', 'There is no such agent.')
const noVersion = (id: string, version: number) =>
  new IsolaError('request_invalid', `version: ${id} has no version ${version}.`, {
    param: 'version',
  })
const changedMeanwhile = (id: string) =>
  new IsolaError(
    'request_conflict',
    `${id} is another by now. Look again (isola agent show ${id}).`,
  )
