import { credentialsOf, whyEnded, type HeldWork } from '../types/held-work.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Submission } from '../types/submission.ts'
import type { RunRow } from '../storage/stored-rows.ts'

const [againMs, maxAgainMs] = [1_000, 30_000]

export interface HoldsOptions {
  readonly held: HeldWork | undefined
  readonly clock: Pick<Clock, 'sleep'>
  readonly sessionId: () => string
  /** Runs that are not over, written or not. */
  readonly unfinished: () => readonly Submission[]
  /** Place of the newest run. */
  readonly lastOrder: () => number
  /** Its principal's object could not be told that a run has left: `release` is to be called later. */
  readonly onUntold: (row: RunRow) => void
}

/**
 * What its principal's object knows of the work here, so that it ends with the key it was asked for with. It is told
 * beside the first model call and not before it; until it has answered it is asked again, as long as the run is live.
 */
export interface Holds {
  /** A run is live, for the first time or again. `onEnded` if nothing may go on with what it was asked with. */
  readonly take: (row: RunRow, onEnded: (reason: string) => void) => void
  /** A run has left: over, declined, or parked, which is work under way. */
  readonly left: (row: RunRow) => void
  /** Says that nothing of what the run was asked with goes on, unless something does. */
  readonly release: (row: RunRow) => Promise<void>
  /** Whether something goes on that was asked for with this. */
  readonly worksWith: (credential: string) => boolean
}

export function createHolds(options: HoldsOptions): Holds {
  const { held, clock, sessionId, unfinished, lastOrder, onUntold } = options
  const asking = new Map<string, { readonly done: Promise<void>; readonly stop: AbortController }>()
  const requestOf = ({ submission }: RunRow, upTo: number) => ({
    principal: submission.principal,
    session: sessionId(),
    credentials: credentialsOf(submission),
    upTo,
  })
  const ask = async (row: RunRow, onEnded: (reason: string) => void, stopped: AbortSignal) => {
    for (let pauseMs = againMs; !stopped.aborted; pauseMs = Math.min(pauseMs * 2, maxAgainMs)) {
      try {
        const ended = await held?.hold(requestOf(row, row.order))
        if (ended && !stopped.aborted) onEnded(whyEnded(ended))
        return
      } catch {
        await clock.sleep(pauseMs, stopped)
      }
    }
  }
  const worksWith = (id: string) => unfinished().some((one) => credentialsOf(one).includes(id))
  const release = async (row: RunRow) => {
    const credentials = credentialsOf(row.submission).filter((id) => !worksWith(id))
    if (credentials.length > 0) await held?.release({ ...requestOf(row, lastOrder()), credentials })
  }

  return {
    take(row, onEnded) {
      if (!held || asking.has(row.id) || credentialsOf(row.submission).length === 0) return
      const stop = new AbortController()
      asking.set(row.id, { done: ask(row, onEnded, stop.signal), stop })
    },
    left(row) {
      if (!held || credentialsOf(row.submission).length === 0) return
      // An earlier life of this object may have asked.
      const asked = asking.get(row.id)
      asking.delete(row.id)
      asked?.stop.abort()
      Promise.resolve(asked?.done)
        .then(() => release(row))
        .catch(() => onUntold(row))
    },
    release,
    worksWith,
  }
}
