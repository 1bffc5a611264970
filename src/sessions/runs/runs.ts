import type { ReadyAgent, SessionRuntime } from '#contracts/runtime.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import { IsolaError } from '#contracts/errors.ts'
import { credentialsOf } from '#contracts/held-work.ts'
import type { Lineage } from '#contracts/lineage.ts'
import type { Submission } from '#contracts/submission.ts'
import type { RunOutcome } from '#contracts/run-view.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import { isStorageFault } from '../storage/storage-fault.ts'
import { runIdAt } from '../storage/run-id.ts'
import type { Children } from '../storage/children.ts'
import type { RunRow, SessionStore } from '../storage/store.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Todo } from '../storage/todo.ts'
import type { Transcript } from '../log/transcript.ts'
import { createHolds } from './holds.ts'
import { createLogPlaces } from './log-places.ts'
import type { RunBill } from './run-bill.ts'
import { createRunEnd } from './run-end.ts'
import { createRunWork, type RunWork, type RunWorkOptions } from './run-work.ts'
import { takeUp } from './take-up.ts'

/** Messages that wait behind the running one. */
const maxQueued = 16

export interface LiveRun {
  readonly id: string
  /** Resolves once the run is accepted: its row is written. Rejects if it could not be. */
  readonly accepted: Promise<void>
  /** Resolves with the terminal result or with what the run waits for, after it is written. */
  readonly done: Promise<RunOutcome>
  readonly submission: RunRow['submission']
  /** False while it waits behind another run. */
  readonly isStarted: () => boolean
}

/** Who waits for a run: a reader of its text, or somebody for its result. */
export type Audience = 'reader' | 'result'

/** A run on its way in: everything of its row that the queue does not decide. Without an id it gets a new one. */
export type NewRun = Pick<RunRow, 'submission' | 'bodyHash'> & Partial<Pick<RunRow, 'id'>>

export interface RunsOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly sync: () => Promise<void>
  readonly sessionId: () => string
  readonly billOf: (turns: readonly TurnRecord[]) => RunBill
  /** Writes a run that is not stored yet, and what has to be there before it: all of it, or nothing. */
  readonly writeFirst: RunWorkOptions['writeFirst']
  readonly onAccepted: () => void
  readonly counted: RunWorkOptions['counted']
  /** Something was written into a run that nobody works on. */
  readonly onChanged: () => void
  /** A run ended, was parked, or (no outcome) could not even be brought to an end. */
  readonly onLeft: (run: RunRow, outcome: RunOutcome | undefined) => void
}

/** The runs of one session: one works at a time, the rest wait in accept order; a parked one holds up nobody. */
export interface Runs {
  /** Throws `request_queue_full`. */
  readonly start: (run: NewRun, agent: ReadyAgent, audience: Audience) => LiveRun
  /** Takes up every unfinished run that is not live in this object and has something to do. */
  readonly resume: () => void
  readonly live: (id: string) => LiveRun | undefined
  /** Writes something into an unfinished run's row. */
  readonly change: (row: RunRow, more: Partial<RunRow>) => void
  /** Takes up a run that was parked, if something has come for it. */
  readonly wake: (id: string) => void
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
  /** Tells its principal's object once more that a run has left. */
  readonly release: (row: RunRow) => Promise<void>
  readonly isIdle: () => boolean
  /** Something could not be written: `resume` does it again, before anything after it. */
  readonly isBehind: () => boolean
}

interface Entry extends LiveRun {
  readonly change: RunWork['change']
  readonly abort: RunWork['abort']
}

// oxlint-disable-next-line max-lines-per-function -- its parts share one queue
export function createRuns(options: RunsOptions): Runs {
  const { runtime, store, hub } = options
  const { clock } = runtime
  const live = new Map<string, Entry>()
  let queue: Promise<unknown> = Promise.resolve()
  // Read when first needed: a disk that fails must not make the object impossible to load.
  let order: number | undefined
  /** What a run could not write is done again before anything after it. */
  let hasLost = false
  const places = createLogPlaces(store.lastSeq)
  const end = createRunEnd({ ...options, places })
  const holds = createHolds({
    ...options,
    clock,
    held: runtime.held,
    unfinished: () => [...store.unfinishedRuns(), ...live.values()].map((one) => one.submission),
    lastOrder: () => order ?? store.lastOrder(),
    onUntold({ id: run }) {
      options.todo.add({ kind: 'settle', session: options.sessionId(), run, isReleased: true })
      options.onAccepted() // which has whoever carries it come
    },
  })
  const take = (row: RunRow) =>
    holds.take(row, (reason) => void cancel(store.findRun(row.id) ?? row, reason))

  return {
    start,
    resume,
    change,
    cancel,
    live: (id) => live.get(id),
    release: (row) => holds.release(row),
    isIdle: () => live.size === 0,
    isBehind: () => hasLost,
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
    wake(id) {
      if (hasLost) return resume()
      const row = live.has(id) ? undefined : store.findRun(id)
      if (row && isReady(row, store)) launch(row)
    },
  }

  function start(run: NewRun, agent: ReadyAgent, audience: Audience): LiveRun {
    if (live.size > maxQueued) {
      const message = 'Too many messages are waiting in this session; try again shortly.'
      throw new IsolaError('request_queue_full', message, { retryAfterMs: 2_000 })
    }
    if (hasLost) resume()
    if (hasLost) {
      throw new IsolaError('request_unavailable', 'The session cannot be written to at the moment.')
    }
    order = (order ?? store.lastOrder()) + 1
    const id = run.id ?? runIdAt(order, runtime.ids.next('run'))
    const row = { ...run, id, order, createdAtMs: clock.nowMs(), wakeTurn: 0, wakes: 0 }
    return launch(row, agent, audience)
  }

  function change(row: RunRow, more: Partial<RunRow>): void {
    const entry = live.get(row.id)
    if (entry) entry.change(more)
    else {
      end.change(row, more)
      options.onChanged()
    }
  }

  function cancel(row: RunRow, reason: string): LiveRun | undefined {
    if (store.final(row.order)) return undefined
    if (hasLost) resume()
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

  function resume(): void {
    hasLost = false
    for (const row of store.unfinishedRuns()) {
      if (live.has(row.id)) continue
      const left = takeUp(row, { ...options, end, launch })
      // One that waits may have begun to in a version that told nobody of it; one that was given up has left.
      if (left === undefined && !live.has(row.id)) {
        if (store.final(row.order)) holds.left(row)
        else take(row)
      }
      if (left === undefined) continue
      hasLost = isStorageFault(left)
      options.onLeft(row, undefined) // not even that could be written
      if (hasLost) return
    }
  }

  /** With `agent` the run is new: its row is written when its first model request is out, or when it has to wait. */
  function launch(initial: RunRow, agent?: ReadyAgent, audience: Audience = 'reader'): LiveRun {
    const about = { row: initial, agent, audience, places, end }
    const run = createRunWork({ ...options, ...about, isBehind: () => hasLost })
    const mustWait = live.size > 0
    if (run.state() === 'stored') options.onAccepted()
    else if (mustWait) run.persist()
    let outcome: RunOutcome | undefined
    const done = (mustWait ? queue.then(run.work) : run.work())
      .then((result) => (outcome = result))
      .finally(() => {
        const row = run.row()
        live.delete(row.id)
        if (outcome?.state !== 'parked') holds.left(row)
        // The places in the log that it has not written are free again; who waits behind it has none yet.
        if (!outcome) places.back(undefined)
        if (run.state() === 'declined') {
          if (order === row.order) order -= 1 // its place too, unless a run has come after it
          return live.size === 0 ? hub.rest() : undefined
        }
        hasLost ||= !outcome
        // What it was parked for may have come while the segment was ending.
        if (outcome?.state === 'parked' && isReady(row, store)) launch(row)
        options.onLeft(row, outcome)
      })
    queue = done.catch(() => {})
    const { id, submission } = initial
    const entry: Entry = { ...run, id, done, submission }
    live.set(id, entry)
    holds.take(initial, (reason) => void cancel(run.row(), reason))
    return entry
  }
}

const isOfCall =
  (parentRun: string, call: string) =>
  ({ lineage }: { readonly lineage?: Lineage | undefined }): boolean =>
    lineage?.parentRun === parentRun && lineage.parentCall === call

/** Not over, and not waiting for someone outside. */
function isReady(row: RunRow, store: SessionStore): boolean {
  if (store.final(row.order)) return false
  return pausesOf(row, store.turns(row.order).at(-1)).length === 0
}
