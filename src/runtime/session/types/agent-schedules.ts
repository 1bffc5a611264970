import { defined } from '#contracts/defined.ts'
import type { ScheduleRequestBody } from './schedule-requests.ts'
import type { SubscriptionManifest } from './manifest-events.ts'
import type { ScheduleAsker, ScheduleChanger } from './schedule.ts'
import type { StoredAgent } from './stored-agent.ts'

/** An agent without a plugin, with the fields that its schedules need. */
export interface ScheduledAgent {
  readonly id: string
  readonly owner: string
  /** Changes of it that were not brought in line yet; absent: none. */
  readonly behind?: number
  /** False while it is archived, or waits for an operator. */
  readonly isActive: boolean
  /** The schedule of its text and the work of each firing. Absent: an earlier schedule of the agent is removed. */
  readonly schedule?: ScheduleRequestBody
  /** Events that begin a run of it. */
  readonly subscribes?: readonly SubscriptionManifest[] | undefined
  /** The owner's key or sign-in, if the owner makes the change. Without it existing schedules keep theirs. */
  readonly asker?: ScheduleAsker | undefined
  /** The key or sign-in of the owner who wrote the text, for schedules that do not exist yet. */
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
  /** Brings the schedules of its text in line, and pauses or resumes all schedules of the agent. */
  readonly sync: (agent: ScheduledAgent, by: ScheduleChanger) => Promise<void>
  /** The same for agents whose last `sync` was cut: a few at a time, the rest another day. Never throws. */
  readonly syncBehind: () => Promise<void>
  /** Removes all schedules of a deleted agent. */
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
