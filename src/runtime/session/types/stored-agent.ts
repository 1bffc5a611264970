import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import type { AgentNeed } from './agent-definition.ts'
import type { ScheduleAsker } from './schedule.ts'
import type { Administrator, Rights } from '#contracts/keys.ts'

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
