import type { EventPlace, EventType, DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'

/**
 * One row of the audit log: an event with who it was for, as it was written then, by whatever version. The deployment's
 * own events are a log as well, that of no session: `session`, `run` and `agent` are empty, `seq` counts without gaps.
 */
export interface AuditRecord extends EventPlace {
  readonly type: EventType | DeploymentEventType
  readonly session: string
  readonly principal: string
  readonly data: JsonObject
}
