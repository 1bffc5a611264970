import { credentialsOf } from '../types/principal.ts'
import type { Lineage, Submission } from '../types/submission.ts'
import { type RunRow, pausesOf } from '../storage/stored-rows.ts'
import {
  stopRun,
  type LiveRun,
  type Run,
  type RunParts,
  changeRow,
  changeRun,
  createRun,
  declineRun,
  persistRun,
  type Admission,
} from './live-runs.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { RunOutcome } from '../types/session-view.ts'
import { runIdAt } from '../storage/ids.ts'
import { isStorageFault } from '../storage/refusals.ts'
import type { SessionStore } from '../storage/store.ts'
import type { CredentialUse } from './credential-use.ts'
import { failRun } from './run-end.ts'
import { work } from './run.ts'

/** Cancels several runs of a session: the runs of one call, of one credential, or all. */
/** @param cancel Cancels one run. */
function createCancels(
  { store, live }: RunParts,
  cancel: (row: RunRow, reason: string) => LiveRun | undefined,
) {
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
    /** Cancels the runs that were asked for with a key or a sign-in. */
    cancelByCredential: (credential: string, reason: string) => {
      cancelWhere((submission) => credentialsOf(submission).includes(credential), reason)
    },
    /** Cancels the runs that a parent's call started here. Empty if it has started none. */
    cancelCall(parentRun: string, call: string, reason: string) {
      const isMeant = isOfCall(parentRun, call)
      const started = cancelWhere(isMeant, reason)
      // The call made this session for its runs, which may be over.
      return started.length === 0 && isMeant(store.session() ?? {}) ? [undefined] : started
    },
    /** Cancels every unfinished run, and waits until each has its outcome. */
    cancelAll: async (reason: string) => {
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

/** Runs that may wait behind the run at work. */
const maxQueued = 16
/** How often a wake may find the same turn open before the run is given up. */
const maxWakes = 5

/** A run on its way in: all fields of its row that the queue does not decide. Without an id it gets a new one. */
export type NewRun = Pick<RunRow, 'submission' | 'bodyHash' | 'persona'> &
  Partial<Pick<RunRow, 'id'>>

interface RunsParts extends RunParts {
  readonly credentials: CredentialUse
  /** The row of a run that is not live was changed. */
  readonly onChanged: () => void
  /** A run ended, was parked, or (without an outcome) could not write its end. */
  readonly afterRun: (row: RunRow, outcome: RunOutcome | undefined) => void
}

/**
 * The runs of one session: one works at a time, the others wait in accept order; a parked run does not hold them up.
 */
export type Runs = ReturnType<typeof createRuns>

export function createRuns(parts: RunsParts) {
  const { runtime, store, hub, live, credentials } = parts
  const { byId } = live
  let queue: Promise<unknown> = Promise.resolve()

  return {
    /** Throws `request_queue_full`. */
    start,
    /** Takes up every unfinished run that is not live in this object and has something to do. */
    resume,
    /** Writes fields into an unfinished run's row. */
    change,
    /** Cancels an unfinished run, whatever it is doing. The first reason stands. */
    cancel,
    live: live.live,
    isIdle: live.isIdle,
    /** A run could not write its end: `resume` does that again, before the session begins anything else. */
    isBehind: () => live.isBehind,
    /** Whether an unfinished run was asked for with this key or sign-in. */
    worksWith: credentials.worksWith,
    ...createCancels(parts, cancel),
    /** Takes up a parked run, if all its pauses have an answer. */
    wake: (id: string) => {
      if (live.isBehind) return resume()
      const row = byId.has(id) ? undefined : store.findRun(id)
      if (row && isReady(row, store)) launch(row)
    },
  }

  function start(run: NewRun, from: Admission): LiveRun {
    if (byId.size > maxQueued) {
      const message = 'Too many messages are waiting in this session; try again shortly.'
      throw new IsolaError('request_queue_full', message, { retryAfterMs: 2_000 })
    }
    if (live.isBehind) resume()
    if (live.isBehind) {
      throw new IsolaError('request_unavailable', 'The session cannot be written to at the moment.')
    }
    const order = live.nextOrder()
    const id = run.id ?? runIdAt(order, runtime.ids.next('run'))
    const createdAtMs = runtime.clock.nowMs()
    return launch({ ...run, id, order, createdAtMs, wakeTurn: 0, wakes: 0 }, from)
  }

  function change(row: RunRow, more: Partial<RunRow>): void {
    const run = byId.get(row.id)
    if (run) return changeRun(run, more, parts)
    changeRow(row, more, parts)
    parts.onChanged()
  }

  function resume(): void {
    live.isBehind = false
    for (const row of store.unfinishedRuns()) {
      if (byId.has(row.id)) continue
      const unwritten = takeUp(row, parts, launch)
      // A run that stays parked registers its key again; a run that was given up leaves.
      if (unwritten === undefined && !byId.has(row.id)) {
        if (store.final(row.order)) leave(row)
        else register(row)
      }
      if (unwritten === undefined) continue
      live.isBehind = isStorageFault(unwritten)
      parts.afterRun(row, undefined)
      if (live.isBehind) return
    }
  }

  /** Puts a run into the queue, or begins it at once. @param from Set for a new run: it has no row yet. */
  function launch(row: RunRow, from: Partial<Admission> = {}): LiveRun {
    const begun = createRun(row, { audience: 'reader', ...from })
    const mustWait = byId.size > 0
    if (begun.state === 'stored') parts.ensureRecovery()
    else if (mustWait) persistWaiting(begun, parts)
    let outcome: RunOutcome | undefined
    const done = (mustWait ? queue.then(() => work(begun, parts)) : work(begun, parts))
      .then((result) => (outcome = result))
      .finally(() => left(begun, outcome))
    queue = done.catch(() => {})
    const run: LiveRun = Object.assign(begun, { done })
    byId.set(run.id, run)
    register(row, run)
    return run
  }

  function left(run: Run, outcome: RunOutcome | undefined): void {
    const { row, state } = run
    byId.delete(row.id)
    if (outcome?.state !== 'parked') leave(row)
    // Places in the log that the run took and did not write are free again; no run behind it has any yet.
    if (!outcome) live.freeSeqs()
    if (state === 'declined') {
      live.freeOrder(row.order)
      if (live.isIdle()) hub.rest()
      return
    }
    live.isBehind ||= !outcome
    // An answer to its pause may have come while the segment was ending.
    if (outcome?.state === 'parked' && isReady(row, store)) launch(row)
    parts.afterRun(row, outcome)
  }

  /** Registers the key or sign-in of the run; the run is cancelled if that has ended. */
  function register(row: RunRow, run?: LiveRun): void {
    const current = () => run?.row ?? store.findRun(row.id) ?? row
    credentials.register(row, (reason) => void cancel(current(), reason))
  }

  function leave(row: RunRow): void {
    credentials.leave(row).catch(() => {
      const { id: session } = parts.identity
      parts.todo.add({ kind: 'settle', session, run: row.id, isReleased: true })
      parts.ensureRecovery() // its job carries the errand
    })
  }

  function cancel(row: RunRow, reason: string): LiveRun | undefined {
    if (store.final(row.order)) return undefined
    if (live.isBehind) resume()
    const run = byId.get(row.id)
    if (row.cancelReason === undefined) change(row, { cancelReason: reason })
    if (!run) return launch({ cancelReason: reason, ...row })
    stopRun(run, reason)
    return run
  }
}

/** A run that waits in the queue has a row, once its key is known to hold. */
function persistWaiting(run: Run, parts: RunsParts): void {
  const { proof } = run
  if (!proof) return persistRun(run, parts)
  proof
    .then(() => persistRun(run, parts))
    .catch((error: unknown) => {
      if (run.state === 'new') declineRun(run, error)
    })
}

/** The run is not over, and no pause of it waits for an answer. */
function isReady(row: RunRow, store: SessionStore): boolean {
  if (store.final(row.order)) return false
  return pausesOf(row, store.turns(row.order).at(-1)).length === 0
}

/**
 * Resumes a run that an earlier life of this object left open: it works again, stays parked, or is given up.
 *
 * @returns The error if not even the end of the run could be written.
 */
function takeUp(row: RunRow, parts: RunsParts, launch: (row: RunRow) => unknown): unknown {
  const error = thrownBy(() => tryToTakeUp(row, parts, launch))
  // A bug costs the run that meets it, and no other.
  if (error === undefined || isStorageFault(error)) return error
  const unwritten = thrownBy(() => giveUp(row, 'It cannot be taken up.', parts))
  // The next wake tries again, however many runs come after this one.
  if (unwritten !== undefined) thrownBy(() => parts.store.keepOpen(row.order))
  return unwritten
}

function tryToTakeUp(row: RunRow, parts: RunsParts, launch: (row: RunRow) => unknown): void {
  const { store } = parts
  const last = store.turns(row.order).at(-1)
  if (store.isDamaged(row.order)) return giveUp(row, 'Its record cannot be read.', parts)
  if (row.startSeq === undefined) return void launch(row)
  if (pausesOf(row, last).length > 0) return store.keepOpen(row.order)
  const open = last && !last.isDone ? last.turn : (last?.turn ?? 0) + 1
  const wakes = row.wakeTurn === open ? row.wakes + 1 : 1
  const woken = { ...row, wakeTurn: open, wakes }
  store.writeRun(woken)
  if (wakes <= maxWakes) launch(woken)
  else giveUp(woken, `It was interrupted ${maxWakes} times in the same turn.`, parts)
}

function giveUp(row: RunRow, why: string, parts: RunsParts): void {
  parts.afterRun(row, failRun(row, { error: { code: 'run_given_up', message: why } }, parts))
}

function thrownBy(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
