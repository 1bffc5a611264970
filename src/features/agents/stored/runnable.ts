import { mayNameModel, type Role } from '#contracts/keys.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { Clock } from '#contracts/sources.ts'
import { permissionsOn, type AgentStore, type SeenAgent } from '../types.ts'
import { type RunnableAgent } from '#contracts/manifest/agent-definition.ts'
import { type RunnableListing } from '#runtime/session/types/stored-agent.ts'

/** The people who sign in without a key, with their roles. */
export interface KnownPeople {
  readonly people: readonly { readonly principal: string; readonly role: Role }[]
}

export interface RunnableDeps extends KnownPeople {
  readonly store: Pick<AgentStore, 'find' | 'list'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** `<provider>/<model>` of a model as an agent names it; `undefined` for one that is not served. */
  readonly fullNameOf: (model: string) => string | undefined
}

/** A lookup is kept so long. A change made in this isolate clears it at once. */
const freshMs = 1_000
const maxKept = 200
const maxListed = 500

/** The role of the caller: of its key, else of the list of people. */
const roleIn = (
  { askerRole }: Pick<SeenAgent, 'askerRole'>,
  principal: string,
  { people }: KnownPeople,
): Role | undefined =>
  principal === 'operator'
    ? 'operator'
    : (askerRole ?? people.find((one) => one.principal === principal)?.role)

interface Found {
  readonly agent?: RunnableAgent
  /** Whether the principal may know of the agent, runnable or not. */
  readonly isSeen: boolean
}
const nothing: Found = { isSeen: false }

/**
 * Finds the stored agents that a principal may run, in the version in force. The agent must be active, its owner must
 * still have access and may name its model, and its acl must allow the principal.
 */
export function createRunnable({ store, clock, people, fullNameOf }: RunnableDeps) {
  const texts = createRecent<Found>(clock)
  const lists = createRecent<readonly RunnableListing[]>(clock)
  const listed = (principal: string) => people.find((one) => one.principal === principal)
  const look = async (principal: string, id: string): Promise<Found> => {
    const found = await store.find(id, { principal, nowMs: clock.nowMs() })
    if (!found) return nothing
    const { state, inForce, owner, isOwnerHeld } = found
    const may = permissionsOn(found, { principal, role: roleIn(found, principal, { people }) })
    const runs =
      inForce &&
      state === 'active' &&
      (isOwnerHeld || listed(owner)) &&
      may.has('run') &&
      mayNameModel(found.ownerModels, inForce.definition.agent.model, fullNameOf)
    return { isSeen: may.size > 0, ...(runs && { agent: toRunnable(inForce) }) }
  }
  const lookAll = async (principal: string): Promise<readonly RunnableListing[]> => {
    const role = principal === 'operator' ? ('operator' as const) : undefined
    const by = { principal, nowMs: clock.nowMs(), role, elseRole: listed(principal)?.role }
    const found = await store.list({ ...by, may: 'run' }, maxListed)
    return found.flatMap(({ id, head, owner, isOwnerHeld, ownerModels }) =>
      head &&
      (isOwnerHeld || listed(owner)) &&
      mayNameModel(ownerModels, head.model ?? 'default', fullNameOf)
        ? [{ id, head }]
        : [],
    )
  }
  const recent = (principal: string, id: string) =>
    texts.get(JSON.stringify([principal, id]), () => look(principal, id))
  const runnable: NonNullable<AgentDirectory['runnable']> = async (principal, id) =>
    (await recent(principal, id)).agent
  const isSeen: NonNullable<AgentDirectory['isSeen']> = async (principal, id) =>
    (await recent(principal, id)).isSeen
  const listRunnable: NonNullable<AgentDirectory['listRunnable']> = (principal) =>
    lists.get(principal, () => lookAll(principal))
  const forget = () => {
    texts.clear()
    lists.clear()
  }
  return { runnable, isSeen, listRunnable, forget }
}

/** Keeps lookups for a moment. */
function createRecent<Value>({ nowMs }: Pick<Clock, 'nowMs'>) {
  const kept = new Map<string, { readonly atMs: number; readonly value: Value }>()
  return {
    async get(key: string, look: () => Promise<Value>): Promise<Value> {
      const atMs = nowMs()
      const known = kept.get(key)
      if (known && atMs >= known.atMs && atMs - known.atMs < freshMs) return known.value
      const value = await look()
      if (kept.size >= maxKept) kept.clear()
      kept.set(key, { atMs, value })
      return value
    },
    clear: () => kept.clear(),
  }
}

const toRunnable = ({
  definition: { acl: _acl, schedule: _schedule, ...definition },
  version,
  hash,
  needs,
}: NonNullable<SeenAgent['inForce']>): RunnableAgent => ({
  definition,
  version,
  hash,
  granted: needs.flatMap(({ kind, what }) => (kind === 'tool' ? [what] : [])),
})
