import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import type { AgentNeed } from './agent-definition.ts'
import type { ScheduleAsker } from './schedule.ts'
import type { Administrator, Rights } from '#contracts/keys.ts'

/** One text of an agent. It never changes; what it was allowed may be added once. */
export interface AgentVersion {
  /** From 1. */
  readonly version: number
  /** sha-256 of the definition. */
  readonly hash: string
  readonly definition: AgentDefinition
  readonly createdBy: string
  readonly createdAtMs: number
  /** What an operator has to allow before it is in force. */
  readonly needs: readonly AgentNeed[]
  /** Who allowed that, or needed nobody's leave: absent while it waits. */
  readonly approvedBy?: string
  readonly approvedAtMs?: number
  /** The session of the agent on demand that it was. */
  readonly from?: string
  /** The key or sign-in its owner wrote it by: what it schedules and subscribes to works by that. */
  readonly asker?: ScheduleAsker
}

/** An agent that needs no plugin. */
export interface StoredAgent {
  readonly id: string
  readonly owner: string
  /** `archived` is kept and does not run. */
  readonly state: 'active' | 'archived'
  /** What runs; absent while its first version waits. */
  readonly inForce?: AgentVersion
  /** The newest version, in force or not. */
  readonly newest: number
  readonly createdAtMs: number
  /** Changes since its schedules were brought in line with it. */
  readonly behind: number
}

/** What lists and searches need of the version in force. */
export interface AgentHead {
  readonly version: number
  readonly hash: string
  readonly name: string
  readonly description: string
  readonly natural?: string | null
  readonly mode?: AgentDefinition['agent']['integration_mode'] | null
  readonly model?: string | null
}

/** One that may run, without its text. */
export interface RunnableListing {
  readonly id: string
  readonly head: AgentHead
}

/** What an agent is called that lives for one request: no other has this id. */
export const onDemandId = 'on-demand'

/** Whoever asks, with what they may. */
export interface AgentAdministrator extends Administrator, Pick<Rights, 'role' | 'agents'> {
  /** By what, as far as a text of theirs begins something by itself. */
  readonly asker?: ScheduleAsker
}
