import { errorCode } from '#contracts/errors.ts'
import type { CallReport, CallVerdict } from '#runtime/catalog/types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolFailure } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { OutputError } from '../types/plugin-output.ts'

/** Reports to the Catalog how calls of installed plugins went. */
export type FaultReport = ReturnType<typeof createFaultReport>

/** The Catalog's counter, and the clock. */
export interface FaultReportDeps {
  /** Never rejects. */
  readonly report: (report: CallReport) => Promise<CallVerdict | undefined>
  readonly clock: Pick<Clock, 'nowMs'>
}

const maxRemembered = 1_000

/** Reports only faults, and the first good call after one, so that most calls cost nothing. */
export function createFaultReport({ report, clock }: FaultReportDeps) {
  const failing = new Set<string>()
  const off = new Map<string, CallVerdict>()
  const isWatched = ({ grantEpoch }: LoadedPlugin) => grantEpoch !== undefined
  const nameOf = ({ hash }: LoadedPlugin, principal: string) => `${hash} ${principal}`
  return {
    wentWell(plugin: LoadedPlugin, principal: string): void {
      if (!isWatched(plugin) || !failing.delete(nameOf(plugin, principal))) return
      void report({ id: plugin.manifest.id, hash: plugin.hash, principal })
    },
    failed(
      plugin: LoadedPlugin,
      error: unknown,
      { signal, principal }: { readonly signal: AbortSignal; readonly principal: string },
    ): void {
      const fault = isWatched(plugin) ? faultOf(error, signal) : undefined
      if (fault === undefined) return
      const name = nameOf(plugin, principal)
      if (failing.size >= maxRemembered) failing.clear()
      failing.add(name)
      const told = report({ id: plugin.manifest.id, hash: plugin.hash, principal, fault })
      void told.then((verdict) => {
        if (!verdict) return
        if (off.size >= maxRemembered) off.clear()
        off.set(name, verdict)
      })
    },
    /** Why a principal may not call the plugin for a while: it kept failing for this principal. */
    offFor(plugin: LoadedPlugin, principal: string): ToolFailure | undefined {
      const name = nameOf(plugin, principal)
      const verdict = off.get(name)
      if (!verdict) return undefined
      if (verdict.offUntilMs <= clock.nowMs()) {
        off.delete(name)
        return undefined
      }
      const until = new Date(verdict.offUntilMs).toISOString().slice(11, 16)
      const message = `The plugin ${plugin.manifest.id} is off for you until ${until} UTC. ${verdict.why}`
      return { code: 'tool_denied', message }
    },
  }
}

/** The fault if it is the plugin's own. A tool's own failure, or a cancelled call, is none. */
function faultOf(error: unknown, signal: AbortSignal): string | undefined {
  if (signal.aborted)
    return errorCode(signal.reason) === 'tool_timeout' ? 'took too long' : undefined
  if (error instanceof OutputError) return error.message.replace(/\.$/, '')
  return errorCode(error) === undefined ? 'crashed' : undefined
}
