import type { SessionApi } from './types/session-api.ts'
import type { SessionAbout } from './types/session-view.ts'
import { aboutOf } from './log/tree.ts'
import { otherBody, unknownAgent } from './runs/refusals.ts'
import type { Scope } from './scope.ts'
import { amendSession, created, isSameAs } from './storage/session-row.ts'
import type { Ending } from './upkeep/ending.ts'

/** Who works where nobody is named. */
const orchestrator = 'orchestrator'

type CreateRequest = Parameters<SessionApi['create']>[0]
type Change = Parameters<SessionApi['amend']>[1]

/** What its owner does to the session itself. */
export interface Changes {
  /** Makes it, or finds it there as it is asked for; `request_idempotency_mismatch` if it is another one. */
  readonly create: (about: CreateRequest) => Promise<SessionAbout>
  readonly amend: (principal: string, change: Change) => Promise<SessionAbout>
  /** Rejects with `request_unavailable` while it cannot be deleted. */
  readonly delete: (principal: string) => Promise<{ readonly deleted: true }>
}

export interface ChangesOptions {
  readonly ending: Pick<Ending, 'forget'>
  /** Told of which session this object is from now on. */
  readonly onCreated: (session: string) => void
}

export function createChanges(scope: Scope, { ending, onCreated }: ChangesOptions): Changes {
  const { runtime, parts, own, refuseWhileDeleting } = scope

  /** Whether it is there already, as it was asked for. Throws if it is another one, or is being deleted. */
  const isMade = (about: CreateRequest): boolean => {
    refuseWhileDeleting()
    if (!parts().store.session()) return false
    if (!isSameAs(own(about.principal), about)) throw otherBody()
    return true
  }

  /** Throws `request_invalid` for a persona that is not there, or that this agent does not take. */
  const refuseAbsent = async (
    agent: string,
    { persona, principal }: Pick<CreateRequest, 'persona' | 'principal'>,
  ): Promise<void> => {
    const asked = persona === undefined ? {} : { persona }
    if (!(await runtime.agents.load(agent, asked, { principal }))) throw unknownAgent(agent)
  }

  return {
    async create(about) {
      const { agent, principal } = about
      const isKnown = isMade(about)
      if (!isKnown && agent !== undefined) await refuseAbsent(agent, about)
      // Others may have asked for the same while the agent was looked for: the first one made it.
      if (isKnown || isMade(about)) return aboutOf(own(principal))
      onCreated(about.session)
      const { store, outbox, upkeep } = parts()
      store.writeSession(created(about, runtime.clock.nowMs()))
      outbox.begin()
      upkeep.afterCreate()
      return aboutOf(own(principal))
    },
    async amend(principal, change) {
      const { agent = orchestrator } = own(principal)
      if (change.persona) await refuseAbsent(agent, { principal, persona: change.persona })
      refuseWhileDeleting()
      const { store, runs } = parts()
      amendSession({ store, isIdle: runs.isIdle }, own(principal), change)
      return aboutOf(own(principal))
    },
    async delete(principal) {
      own(principal)
      await ending.forget(principal)
      return { deleted: true }
    },
  }
}
