import type { DeploymentEventType, DeploymentDraftOf } from '#contracts/event.ts'

/** An event of the deployment before its principal and time are added: a change by an operator, or an attempt. */
export type DeploymentDraft<Type extends DeploymentEventType = DeploymentEventType> = {
  [Each in Type]: DeploymentDraftOf<Each>
}[Type]
