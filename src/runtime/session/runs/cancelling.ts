import { credentialsOf } from '../types/held-work.ts'
import type { Lineage } from '../types/lineage.ts'
import type { Submission } from '../types/submission.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { LiveEntry, LiveRun } from './live-run.ts'

/** How runs are ended before they are done. */
export interface Cancelling {
  /** Cancels a run that is not over, whatever it is doing. The first reason stands. */
  readonly cancel: (row: RunRow, reason: string) => LiveRun | undefined
  /** Cancels what a parent's call started here. Empty if it has started nothing. */
  readonly cancelCall: (
    parentRun: string,
    call: string,
    reason: string,
  ) => readonly (LiveRun | undefined)[]
  /** Cancels what was asked for with a key or a sign-in. */
  readonly cancelHeld: (credential: string, reason: string) => void
  /** Cancels everything that is not over, and waits until each has its outcome. */
  readonly cancelAll: (reason: string) => Promise<void>
}

export interface CancellingOptions {
  readonly store: Pick<SessionStore, 'final' | 'session' | 'unfinishedRuns'>
  readonly live: ReadonlyMap<string, LiveEntry>
  readonly change: (row: RunRow, more: Partial<RunRow>) => void
  readonly launch: (row: RunRow) => LiveRun
  /** Does again what could not be written, if there is something. */
  readonly catchUp: () => void
}

export function createCancelling(options: CancellingOptions): Cancelling {
  const { store, live, change, launch, catchUp } = options
  return {
    cancel,
    cancelHeld(credential, reason) {
      cancelMeant((submission) => credentialsOf(submission).includes(credential), reason)
    },
    cancelCall(parentRun, call, reason) {
      const isMeant = isOfCall(parentRun, call)
      const started = cancelMeant(isMeant, reason)
      // What it started may be over: the session is made by the call whose runs are in it.
      return started.length === 0 && isMeant(store.session() ?? {}) ? [undefined] : started
    },
    async cancelAll(reason) {
      for (const row of store.unfinishedRuns()) cancel(row, reason)
      for (const entry of live.values()) entry.abort(reason) // also one that is not written yet
      await Promise.allSettled([...live.values()].map(({ done }) => done))
    },
  }

  function cancel(row: RunRow, reason: string): LiveRun | undefined {
    if (store.final(row.order)) return undefined
    catchUp()
    const entry = live.get(row.id)
    if (row.cancelReason === undefined) change(row, { cancelReason: reason })
    if (!entry) return launch({ cancelReason: reason, ...row })
    entry.abort(reason)
    return entry
  }

  function cancelMeant(isMeant: (submission: Submission) => boolean, reason: string) {
    const rows = store.unfinishedRuns().filter(({ submission }) => isMeant(submission))
    const known = new Set(rows.map(({ id }) => id))
    // One whose first request is not out yet has no row.
    const unwritten = [...live.values()].filter(
      ({ id, submission }) => isMeant(submission) && !known.has(id),
    )
    unwritten.forEach((entry) => entry.abort(reason))
    return [...rows.map((row) => cancel(row, reason)), ...unwritten]
  }
}

/** What the call of a run elsewhere asked for. */
export const isOfCall =
  (parentRun: string, call: string) =>
  ({ lineage }: { readonly lineage?: Lineage | undefined }): boolean =>
    lineage?.parentRun === parentRun && lineage.parentCall === call
