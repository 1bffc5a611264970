import type { CallReport, CallVerdict } from './types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'

/** So many faults in a row, within so long, switch a plugin off: for the principal that had them, or for all. */
const maxFaults = 5
const windowMs = 10 * 60_000
/** For everybody it takes so many who had some, or as many as the deployment has. */
const manyPrincipals = 3

interface Count {
  readonly faults: number
  readonly sinceMs: number
}

/** What follows from a report. */
interface Breaking {
  /** Why the plugin is to be switched off for everybody. */
  readonly all?: string
  /** It is off for this principal alone. */
  readonly own?: CallVerdict
}

/**
 * Counts calls that failed by the plugin's own doing (crashed, hung, answered garbage), one after the other; a call
 * that went well begins anew. What a tool says has failed is no fault.
 *
 * Who calls a plugin can make it fail, by what is asked of it: so nobody's faults count for more than their share, and
 * no one principal switches it off for the others. Where a deployment has one only, that one's are enough.
 */
export function createCircuitBreaker({ nowMs }: Pick<Clock, 'nowMs'>) {
  /** By hash, then by principal: since any call went well, and since one of the same principal did. */
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
