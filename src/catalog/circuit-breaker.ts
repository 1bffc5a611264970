import type { CallReport } from '#contracts/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'

/** So many in a row, within so long, and a plugin is switched off. */
const maxFaults = 5
const windowMs = 10 * 60_000

interface Count {
  readonly faults: number
  readonly sinceMs: number
}

/**
 * Counts calls that failed by the plugin's own doing (crashed, hung, answered garbage), one after the other; a call
 * that went well begins anew. What a tool says has failed is no fault.
 */
export function createCircuitBreaker(clock: Pick<Clock, 'nowMs'>) {
  const counts = new Map<string, Count>()
  return {
    /** @returns Why the plugin is to be switched off, if it is. */
    note({ hash, fault }: CallReport): string | undefined {
      const nowMs = clock.nowMs()
      const before = counts.get(hash)
      counts.delete(hash)
      if (fault === undefined) return undefined
      const isOld = !before || nowMs - before.sinceMs > windowMs
      const count = isOld ? { faults: 1, sinceMs: nowMs } : { ...before, faults: before.faults + 1 }
      if (count.faults >= maxFaults)
        return `It failed ${count.faults} times in a row; the last time it ${fault}.`
      counts.set(hash, count)
      return undefined
    },
  }
}
