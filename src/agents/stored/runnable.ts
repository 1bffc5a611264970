import type { Role } from '#contracts/role.ts'
import type { AgentDirectory } from '#contracts/runtime.ts'
import type { Clock } from '#contracts/sources.ts'
import {
  permissionsOn,
  type AgentStore,
  type RunnableAgent,
  type SeenAgent,
} from '#contracts/stored-agent.ts'

/** Who signs in without a key, and as what. */
export interface KnownPeople {
  readonly people: readonly { readonly principal: string; readonly role: Role }[]
}

export interface RunnableDeps extends KnownPeople {
  readonly store: Pick<AgentStore, 'find' | 'list'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/** So old may be what is believed of an agent; a change that is made here is seen at once. */
const freshMs = 1_000
const maxKept = 200
const maxListed = 500

/** The role of whoever asks. Somebody without a key here has the one that the list of people says. */
export const roleIn = (
  { askerRole }: Pick<SeenAgent, 'askerRole'>,
  principal: string,
  { people }: KnownPeople,
): Role | undefined =>
  principal === 'operator'
    ? 'operator'
    : (askerRole ?? people.find((one) => one.principal === principal)?.role)

/**
 * Whether a principal may run an agent, and in which text: an agent that is active and has a version in force, whose
 * owner can still come in, and to whoever it lets.
 */
export function createRunnable({ store, clock, people }: RunnableDeps) {
  const kept = new Map<
    string,
    { readonly atMs: number; readonly agents: readonly RunnableAgent[] }
  >()
  const look = async (principal: string, id: string | undefined) => {
    const by = { principal, nowMs: clock.nowMs() }
    const found = id === undefined ? await store.list(by, maxListed) : [await store.find(id, by)]
    return found.flatMap((one) => {
      const { state, inForce, owner, isOwnerHeld } = one ?? {}
      if (!one || !inForce || state !== 'active') return []
      if (!isOwnerHeld && !people.some((person) => person.principal === owner)) return []
      const role = roleIn(one, principal, { people })
      return permissionsOn(one, { principal, role }).has('run') ? [toRunnable(inForce)] : []
    })
  }
  const runnable: NonNullable<AgentDirectory['runnable']> = async (principal, id) => {
    const key = JSON.stringify([principal, id])
    const nowMs = clock.nowMs()
    const known = kept.get(key)
    if (known && nowMs >= known.atMs && nowMs - known.atMs < freshMs) return known.agents
    const agents = await look(principal, id)
    if (kept.size >= maxKept) kept.clear()
    kept.set(key, { atMs: nowMs, agents })
    return agents
  }
  return { runnable, forget: () => kept.clear() }
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
