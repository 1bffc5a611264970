import { credentialsOf } from '../types/held-work.ts'
import type { Lineage } from '../types/lineage.ts'
import type { Submission } from '../types/submission.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { stopRun, type LiveRun, type RunParts } from './live-runs.ts'

/** Cancels several runs of a session: the runs of one call, of one credential, or all. */
export interface Cancels {
  /** Cancels the runs that a parent's call started here. Empty if it has started none. */
  readonly cancelCall: (
    parentRun: string,
    call: string,
    reason: string,
  ) => readonly (LiveRun | undefined)[]
  /** Cancels the runs that were asked for with a key or a sign-in. */
  readonly cancelByCredential: (credential: string, reason: string) => void
  /** Cancels every unfinished run, and waits until each has its outcome. */
  readonly cancelAll: (reason: string) => Promise<void>
}

/** @param cancel Cancels one run. */
export function createCancels(
  { store, live }: Pick<RunParts, 'store' | 'live'>,
  cancel: (row: RunRow, reason: string) => LiveRun | undefined,
): Cancels {
  const cancelWhere = (isMeant: (submission: Submission) => boolean, reason: string) => {
    const rows = store.unfinishedRuns().filter(({ submission }) => isMeant(submission))
    const known = new Set(rows.map(({ id }) => id))
    // A run whose first model request is not on its way yet has no row.
    const unwritten = [...live.byId.values()].filter(
      ({ id, submission }) => isMeant(submission) && !known.has(id),
    )
    unwritten.forEach((run) => stopRun(run, reason))
    return [...rows.map((row) => cancel(row, reason)), ...unwritten]
  }
  return {
    cancelByCredential(credential, reason) {
      cancelWhere((submission) => credentialsOf(submission).includes(credential), reason)
    },
    cancelCall(parentRun, call, reason) {
      const isMeant = isOfCall(parentRun, call)
      const started = cancelWhere(isMeant, reason)
      // The call made this session for its runs, which may be over.
      return started.length === 0 && isMeant(store.session() ?? {}) ? [undefined] : started
    },
    async cancelAll(reason) {
      for (const row of store.unfinishedRuns()) cancel(row, reason)
      for (const run of live.byId.values()) stopRun(run, reason) // also a run without a row yet
      await Promise.allSettled([...live.byId.values()].map(({ done }) => done))
    },
  }
}

/** Whether a call of a run elsewhere asked for this. */
export const isOfCall =
  (parentRun: string, call: string) =>
  ({ lineage }: { readonly lineage?: Lineage | undefined }): boolean =>
    lineage?.parentRun === parentRun && lineage.parentCall === call
