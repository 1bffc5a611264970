import { errorCode } from '#contracts/errors.ts'
import type { CallReport } from '#contracts/plugin-catalog.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { OutputError } from '../sandbox/output-error.ts'

/** Tells the Catalog how calls of installed plugins went. */
export interface FaultReport {
  readonly wentWell: (plugin: LoadedPlugin) => void
  readonly failed: (plugin: LoadedPlugin, error: unknown, signal: AbortSignal) => void
}

/** Only faults are told, and the first call that goes well after one: most calls cost nothing. */
export function createFaultReport(report: (report: CallReport) => void): FaultReport {
  const failing = new Set<string>()
  const isWatched = ({ grantEpoch }: LoadedPlugin) => grantEpoch !== undefined
  return {
    wentWell(plugin) {
      if (!isWatched(plugin) || !failing.delete(plugin.hash)) return
      report({ id: plugin.manifest.id, hash: plugin.hash })
    },
    failed(plugin, error, signal) {
      const fault = isWatched(plugin) ? faultOf(error, signal) : undefined
      if (fault === undefined) return
      failing.add(plugin.hash)
      report({ id: plugin.manifest.id, hash: plugin.hash, fault })
    },
  }
}

/** What is the plugin's own doing: not what its tool says has failed, and not that somebody stopped it. */
function faultOf(error: unknown, signal: AbortSignal): string | undefined {
  if (signal.aborted)
    return errorCode(signal.reason) === 'tool_timeout' ? 'took too long' : undefined
  if (error instanceof OutputError) return error.message.replace(/\.$/, '')
  return errorCode(error) === undefined ? 'crashed' : undefined
}
