import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import type {
  ScheduleAsker,
  ScheduleRequestBody,
  ScheduleChanger,
  SubscriptionManifest,
} from './schedule.ts'
import type { Administrator, Rights } from '#contracts/keys.ts'
import { defined } from '#contracts/defined.ts'

/**
 * A need that an operator must have approved. `owner`: the agent's owner may approve it, since another principal wrote
 * it.
 */
export interface AgentNeed {
  readonly kind: 'tool' | 'limit' | 'share' | 'memory' | 'skills' | 'owner'
  /** `http__get`, `time_budget_ms`, `role user: run`, `schedule`. */
  readonly what: string
}

/** One version of an agent's text. It never changes; its approval is added once. */
export interface AgentVersion {
  /** From 1. */
  readonly version: number
  /** sha-256 of the definition. */
  readonly hash: string
  readonly definition: AgentDefinition
  readonly createdBy: string
  readonly createdAtMs: number
  /** The needs that an operator has to approve before it is in force. */
  readonly needs: readonly AgentNeed[]
  /** The approver, or the author if no approval was needed. Absent while it waits. */
  readonly approvedBy?: string
  readonly approvedAtMs?: number
  /** The session of the on-demand agent that it was made from. */
  readonly from?: string
  /** The owner's key or sign-in at writing: its schedules and subscriptions use that. */
  readonly asker?: ScheduleAsker
}

/** An agent that needs no plugin. */
export interface StoredAgent {
  readonly id: string
  readonly owner: string
  /** `archived` is stored and does not run. */
  readonly state: 'active' | 'archived'
  /** The version that runs; absent while the first one waits. */
  readonly inForce?: AgentVersion
  /** The newest version, in force or not. */
  readonly newest: number
  readonly createdAtMs: number
  /** Changes since its schedules were brought in line with it. */
  readonly behind: number
}

/** The fields of the version in force that lists and searches need. */
export interface AgentHead {
  readonly version: number
  readonly hash: string
  readonly name: string
  readonly description: string
  readonly natural?: string | null
  readonly mode?: AgentDefinition['agent']['integration_mode'] | null
  readonly model?: string | null
}

/** An agent that may run, without its text. */
export interface RunnableListing {
  readonly id: string
  readonly head: AgentHead
}

/** The id of an agent that lives for one request. No other agent has this id. */
export const onDemandId = 'on-demand'

/** The caller, with its rights. */
export interface AgentAdministrator extends Administrator, Pick<Rights, 'role' | 'agents'> {
  /** The caller's credential, for a text that starts runs by itself. */
  readonly asker?: ScheduleAsker
}

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
 * Schedules and subscriptions that belong to agents: in the object of the agent's owner, and in the owner's name. To
 * be asked after each change of an agent; asked again it changes nothing. May throw `request_unavailable`, and
 * `request_invalid` for times that never come.
 */
export interface AgentSchedules {
  /**
   * The same without doing it: throws what `sync` would refuse. To be asked before an agent is changed, so that none
   * is active without its schedule.
   */
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
