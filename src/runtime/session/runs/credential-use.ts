import { credentialsOf, whyEnded, type HeldWork } from '../types/principal.ts'
import type { Clock } from '#contracts/sources.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { LiveRuns } from './live-runs.ts'

const [againMs, maxAgainMs] = [1_000, 30_000]

interface CredentialUseOptions {
  readonly held: HeldWork | undefined
  readonly clock: Clock
  readonly identity: { readonly id: string }
  readonly live: LiveRuns
}

/**
 * Registers the keys and sign-ins of this session's runs with their principal's object, so that a run ends with the key
 * that asked for it. Registration goes beside the first model call, not before it; it is repeated until the object has
 * answered, as long as the run is live.
 */
export type CredentialUse = ReturnType<typeof createCredentialUse>

export function createCredentialUse(options: CredentialUseOptions) {
  const { held, clock, identity, live } = options
  const asking = new Map<string, { readonly done: Promise<void>; readonly stop: AbortController }>()
  const requestOf = ({ submission }: RunRow, upTo: number) => ({
    principal: submission.principal,
    session: identity.id,
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
  const worksWith = (id: string) => live.unfinished().some((one) => credentialsOf(one).includes(id))
  const release = async (row: RunRow) => {
    const credentials = credentialsOf(row.submission).filter((id) => !worksWith(id))
    if (credentials.length > 0)
      await held?.release({ ...requestOf(row, live.lastOrder()), credentials })
  }

  return {
    /** A run is live, for the first time or again. Calls `onEnded` if its key or sign-in has ended. */
    register: (row: RunRow, onEnded: (reason: string) => void) => {
      if (!held || asking.has(row.id) || credentialsOf(row.submission).length === 0) return
      const stop = new AbortController()
      asking.set(row.id, { done: ask(row, onEnded, stop.signal), stop })
    },
    /**
     * Called when a run is over or declined; a parked run keeps its registration. Rejects if the register could not be
     * reached: `release` is due.
     */
    async leave(row: RunRow) {
      if (!held || credentialsOf(row.submission).length === 0) return
      // An earlier life of this object may have registered the run.
      const asked = asking.get(row.id)
      asking.delete(row.id)
      asked?.stop.abort()
      await asked?.done
      await release(row)
    },
    /** Takes back the registration of each credential of the run that no other run uses. */
    release,
    /** Whether an unfinished run was asked for with this credential. */
    worksWith,
  }
}
