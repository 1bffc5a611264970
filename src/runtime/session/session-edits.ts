import type { SessionApi } from './types/session-api.ts'
import type { SessionAbout } from './types/session-view.ts'
import { aboutOf } from './log/tree.ts'
import { otherBody, unknownAgent } from './storage/refusals.ts'
import type { SessionAccess } from './session-parts.ts'
import { amendSession, created, isSameAs } from './storage/session-row.ts'
import type { Ending } from './upkeep/ending.ts'

/** The agent of a session that names none. */
const orchestrator = 'orchestrator'

type CreateRequest = Parameters<SessionApi['create']>[0]
type Change = Parameters<SessionApi['amend']>[1]

/** Makes, changes and deletes a session for its owner. */
export function createSessionEdits(access: SessionAccess, { forget }: Ending) {
  const { runtime, identity, current, own, refuseWhileDeleting } = access

  /** Whether the session exists as requested. Throws if it exists otherwise, or is being deleted. */
  const isMade = (about: CreateRequest): boolean => {
    refuseWhileDeleting()
    if (!current.parts.store.session()) return false
    if (!isSameAs(own(about.principal), about)) throw otherBody()
    return true
  }

  /** Throws `request_invalid` for a persona that does not exist, or that this agent does not take. */
  const refuseAbsent = async (
    agent: string,
    { persona, principal }: Pick<CreateRequest, 'persona' | 'principal'>,
  ): Promise<void> => {
    const asked = persona === undefined ? {} : { persona }
    if (!(await runtime.agents.load(agent, asked, { principal }))) throw unknownAgent(agent)
  }

  return {
    /**
     * Makes the session, or finds it as requested; rejects with `request_idempotency_mismatch` if it is another one.
     */
    async create(about: CreateRequest): Promise<SessionAbout> {
      const { agent, principal } = about
      const isKnown = isMade(about)
      if (!isKnown && agent !== undefined) await refuseAbsent(agent, about)
      // Another request may have made the session while the agent was loaded.
      if (isKnown || isMade(about)) return aboutOf(own(principal))
      identity.id = about.session
      const { store, outbox, upkeep } = current.parts
      store.writeSession(created(about, runtime.clock.nowMs()))
      outbox.begin()
      upkeep.afterCreate()
      return aboutOf(own(principal))
    },
    async amend(principal: string, change: Change): Promise<SessionAbout> {
      const { agent = orchestrator } = own(principal)
      if (change.persona) await refuseAbsent(agent, { principal, persona: change.persona })
      refuseWhileDeleting()
      const { store, runs } = current.parts
      amendSession({ store, isIdle: runs.isIdle }, own(principal), change)
      return aboutOf(own(principal))
    },
    /** Rejects with `request_unavailable` while the session cannot be deleted. */
    async delete(principal: string): Promise<{ readonly deleted: true }> {
      own(principal)
      await forget(principal)
      return { deleted: true }
    },
  }
}
