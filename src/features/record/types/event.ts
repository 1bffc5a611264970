import type { EventPlace, EventType, DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'

/**
 * One row of the record: an event and its principal, as the version that wrote it had it. The deployment's own events
 * form a log without a session: `session`, `run` and `agent` are empty, and `seq` counts without gaps.
 */
export interface AuditRecord extends EventPlace {
  readonly type: EventType | DeploymentEventType
  readonly session: string
  readonly principal: string
  readonly data: JsonObject
}
