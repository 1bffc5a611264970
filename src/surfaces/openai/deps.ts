import type { DeploymentLog } from '#contracts/event.ts'
import type { ReadImage } from '#platform/outbound/types.ts'
import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionEntry } from '#runtime/session/types/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import type { ToldAnswers } from '#features/policy/types.ts'
import type { GoneClient } from '#platform/routes/types.ts'
import type { Targets } from '#platform/routes/targets.ts'
import type { OnFault } from '#platform/routes/request.ts'

/** The dependencies of the routes of `/v1`. */
export interface OpenaiDeps extends Targets {
  readonly agents: Targets['agents'] & Pick<AgentDirectory, 'listRunnable' | 'toolNames'>
  readonly sessions: SessionGateway
  readonly entry: SessionEntry
  readonly limits: Pick<RequestLimits, 'newSession'>
  /** The labels of earlier answers to clients of `/v1`. */
  readonly toldAnswers: Pick<ToldAnswers, 'labelled'>
  /** Absent where every model server may be given addresses. */
  readonly readImage?: ReadImage | undefined
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
  /** Kept alive with `waitUntil` where the platform has it. */
  readonly onClientGone?: (gone: GoneClient) => Promise<void> | void
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}
