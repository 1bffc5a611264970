import { headOf } from '#contracts/cut.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import type { HttpDeps } from '#platform/routes/deps.ts'

/** What nobody may install is on the record too; if that cannot be written, it is refused all the same. */
export async function recordRefusal(
  { deploymentLog, sources }: HttpDeps,
  { principal, trace, requestId }: ChangeBy,
  { asked, error }: { readonly asked: string; readonly error: unknown },
): Promise<void> {
  const code = errorCode(error)
  if (!code?.startsWith('plugin_')) return
  const data = { asked, code, why: headOf(errorMessage(error), 500), request: requestId }
  const event = { type: 'plugin_refused', principal, trace, data } as const
  await deploymentLog.append({ ...event, atMs: sources.clock.nowMs() }).catch(() => {})
}
