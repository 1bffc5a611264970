import type { DeploymentLog, DeploymentEvent } from '#contracts/event.ts'

/** Several at once, all or none. Throws `request_unavailable`. */
export interface DeploymentLogs extends DeploymentLog {
  readonly appendAll: (events: readonly DeploymentEvent[]) => Promise<void>
}
