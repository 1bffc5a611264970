import { headOf } from '#contracts/cut.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import type { Sources } from '#contracts/sources.ts'

export interface RefusalDeps {
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

/** Puts an upload that is refused on the record too; if that cannot be written, it is refused all the same. */
export async function recordRefusal(
  { deploymentLog, sources }: RefusalDeps,
  { principal, trace, requestId }: ChangeBy,
  { asked, error }: { readonly asked: string; readonly error: unknown },
): Promise<void> {
  const code = errorCode(error)
  if (!code?.startsWith('plugin_')) return
  const data = { asked, code, why: headOf(errorMessage(error), 500), request: requestId }
  const event = { type: 'plugin_refused', principal, trace, data } as const
  await deploymentLog.append({ ...event, atMs: sources.clock.nowMs() }).catch(() => {})
}
