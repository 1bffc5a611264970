import type { DeploymentEventType, DeploymentDraftOf } from '#contracts/event.ts'

/** Something an operator did, or somebody tried, before it is known who and when. */
export type DeploymentDraft<Type extends DeploymentEventType = DeploymentEventType> = {
  [Each in Type]: DeploymentDraftOf<Each>
}[Type]
