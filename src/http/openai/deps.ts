import type { DeploymentLog } from '#contracts/event.ts'
import type { ReadImage } from '#contracts/read-image.ts'
import type { RequestLimits } from '#contracts/request-limits.ts'
import type { AgentDirectory } from '#contracts/runtime.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { SessionEntry } from '#contracts/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import type { ToldAnswers } from '#contracts/told-answers.ts'
import type { GoneClient } from '../gone-client.ts'
import type { Targets } from '../targets.ts'
import type { OnFault } from '../routes/request.ts'

/** What the routes of `/v1` translate to. */
export interface OpenaiDeps extends Targets {
  readonly agents: Targets['agents'] & Pick<AgentDirectory, 'listRunnable' | 'toolNames'>
  readonly sessions: SessionGateway
  readonly entry: SessionEntry
  readonly limits: Pick<RequestLimits, 'newSession'>
  /** What clients of `/v1` were answered before. */
  readonly toldAnswers: Pick<ToldAnswers, 'labelled'>
  /** Absent where every model server may be given addresses. */
  readonly readImage?: ReadImage | undefined
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
  /** Kept alive with `waitUntil` where there is one. */
  readonly onClientGone?: (gone: GoneClient) => Promise<void> | void
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}
