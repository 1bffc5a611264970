import type { CallReport, CallVerdict } from './types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'

/** So many faults in a row, within so long, switch a plugin off: for the principal that had them, or for all. */
const maxFaults = 5
const windowMs = 10 * 60_000
/** Switching a plugin off for all takes faults of so many principals, or of all principals if there are fewer. */
const manyPrincipals = 3

interface Count {
  readonly faults: number
  readonly sinceMs: number
}

/** The consequences of a report. */
interface Breaking {
  /** Why the plugin is switched off for all principals. */
  readonly all?: string
  /** The plugin is off for this principal alone. */
  readonly own?: CallVerdict
}

/**
 * Counts faults of a plugin in a row (crashes, hangs, invalid answers). A call that succeeds resets the count. An error
 * that a tool reports is no fault.
 *
 * A caller can provoke faults by its requests. So the faults of one principal count only up to a share, and one
 * principal cannot switch a plugin off for the others, unless the deployment has no other principal.
 */
export function createCircuitBreaker({ nowMs }: Pick<Clock, 'nowMs'>) {
  /**
   * Faults by hash, then by principal: since the last success of any principal, and since the last success of the same
   * principal.
   */
  const everybodys = new Map<string, Map<string, Count>>()
  const own = new Map<string, Map<string, Count>>()
  const noteIn = (counts: typeof own, hash: string, principal: string): Count => {
    const ofHash = counts.get(hash) ?? new Map<string, Count>()
    counts.set(hash, ofHash)
    for (const [name, { sinceMs }] of ofHash) if (nowMs() - sinceMs > windowMs) ofHash.delete(name)
    const { faults, sinceMs } = ofHash.get(principal) ?? { faults: 0, sinceMs: nowMs() }
    const count = { faults: faults + 1, sinceMs }
    ofHash.set(principal, count)
    return count
  }

  return {
    /** @param principals How many the deployment has, the operator included. */
    note({ hash, fault, principal }: CallReport, principals: number): Breaking {
      if (fault === undefined) {
        everybodys.delete(hash)
        own.get(hash)?.delete(principal)
        return {}
      }
      const mine = noteIn(own, hash, principal)
      noteIn(everybodys, hash, principal)
      const share = Math.ceil(maxFaults / Math.max(1, Math.min(manyPrincipals, principals)))
      const faults = [...everybodys.get(hash)!.values()].map((one) => one.faults)
      const sum = (of: readonly number[]) => of.reduce((all, one) => all + one, 0)
      if (sum(faults.map((one) => Math.min(one, share))) >= maxFaults) {
        everybodys.delete(hash)
        own.delete(hash)
        const callers = faults.length > 1 ? `, for ${faults.length} callers` : ''
        return {
          all: `It failed ${sum(faults)} times in a row${callers}; the last time it ${fault}.`,
        }
      }
      if (mine.faults < maxFaults) return {}
      const why = `It failed ${mine.faults} times in a row for you; the last time it ${fault}.`
      return { own: { why, offUntilMs: nowMs() + windowMs } }
    },
  }
}
