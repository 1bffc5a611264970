import { defined } from '#contracts/defined.ts'
import type { ScheduleRequestBody } from './schedule-requests.ts'
import type { SubscriptionManifest } from './manifest-events.ts'
import type { ScheduleAsker, ScheduleChanger } from './schedule.ts'
import type { StoredAgent } from './stored-agent.ts'

/** An agent that is no plugin's, as far as its schedules go. */
export interface ScheduledAgent {
  readonly id: string
  readonly owner: string
  /** Changes of it that were not brought in line yet; absent: none. */
  readonly behind?: number
  /** Not while it is archived, or waits for an operator. */
  readonly isActive: boolean
  /** What its text schedules, with what each firing is to do; absent: nothing, and what it scheduled before is gone. */
  readonly schedule?: ScheduleRequestBody
  /** Events that begin a run of it. */
  readonly subscribes?: readonly SubscriptionManifest[] | undefined
  /** The key or sign-in of its owner, where the owner says so now; what is there keeps the one that it has otherwise. */
  readonly asker?: ScheduleAsker | undefined
  /** That of the owner who wrote its text: of what is not there yet. */
  readonly author?: ScheduleAsker | undefined
}

/**
 * Schedules and subscriptions that belong to agents: in the object of the agent's owner, and in the owner's name. To be asked after each
 * change of an agent; asked again it changes nothing. May throw `request_unavailable`, and `request_invalid` for times
 * that never come.
 */
export interface AgentSchedules {
  /** The same without doing it: throws what `sync` would refuse. To be asked before an agent is changed, so that none is active without its schedule. */
  readonly check: (agent: ScheduledAgent, by: ScheduleChanger) => Promise<void>
  /** Brings those of its text in line, and pauses or resumes all that the agent has with it. */
  readonly sync: (agent: ScheduledAgent, by: ScheduleChanger) => Promise<void>
  /** The same for those of which that was cut before its end: a few, the rest another day. Never throws. */
  readonly syncBehind: () => Promise<void>
  /** The agent is gone, and all that it had with it. */
  readonly removed: (
    agent: Pick<ScheduledAgent, 'id' | 'owner'>,
    by: ScheduleChanger,
  ) => Promise<void>
}

/** An agent's version in force, as far as its schedules go. */
export function toScheduled(
  {
    id,
    owner,
    state,
    behind,
    inForce,
  }: Pick<StoredAgent, 'id' | 'owner' | 'state' | 'behind' | 'inForce'>,
  asker?: ScheduleAsker,
): ScheduledAgent {
  const { schedule, agent } = inForce?.definition ?? {}
  const author = inForce?.asker
  return {
    id,
    owner,
    behind,
    isActive: state === 'active' && inForce !== undefined,
    ...defined({ schedule }),
    subscribes: agent?.subscribes,
    ...(asker?.principal === owner && { asker }),
    ...(author?.principal === owner && { author }),
  }
}
