import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { RunOutcome } from '../types/run-view.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import { isStorageFault } from '../storage/storage-fault.ts'
import { runIdAt } from '../storage/run-id.ts'
import type { Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Todo } from '../storage/todo.ts'
import type { Transcript } from '../log/transcript.ts'
import { createCancelling, type Cancelling } from './cancelling.ts'
import { createHolds } from './holds.ts'
import type { LiveEntry, LiveRun } from './live-run.ts'
import { createLogPlaces } from './log-places.ts'
import type { RunBill } from './run-bill.ts'
import { createRunEnd } from './run-end.ts'
import { createRunWork, type RunWorkOptions } from './run-work.ts'
import { takeUp } from './take-up.ts'

/** Messages that wait behind the running one. */
const maxQueued = 16

/** Who waits for a run: a reader of its text, or somebody for its result. */
export type Audience = 'reader' | 'result'

/** A run on its way in: everything of its row that the queue does not decide. Without an id it gets a new one. */
export type NewRun = Pick<RunRow, 'submission' | 'bodyHash' | 'persona'> &
  Partial<Pick<RunRow, 'id'>>

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
export interface Runs extends Cancelling {
  /** Throws `request_queue_full`. */
  readonly start: (run: NewRun, agent: ReadyAgent, audience: Audience) => LiveRun
  /** Takes up every unfinished run that is not live in this object and has something to do. */
  readonly resume: () => void
  readonly live: (id: string) => LiveRun | undefined
  /** Writes something into an unfinished run's row. */
  readonly change: (row: RunRow, more: Partial<RunRow>) => void
  /** Takes up a run that was parked, if something has come for it. */
  readonly wake: (id: string) => void
  /** Tells its principal's object once more that a run has left. */
  readonly release: (row: RunRow) => Promise<void>
  /** Whether a run that was asked for with this key or sign-in is not over. */
  readonly worksWith: (credential: string) => boolean
  readonly isIdle: () => boolean
  /** Something could not be written: `resume` does it again, before anything after it. */
  readonly isBehind: () => boolean
}

export function createRuns(options: RunsOptions): Runs {
  const { runtime, store, hub } = options
  const { clock } = runtime
  const live = new Map<string, LiveEntry>()
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
  const catchUp = () => hasLost && resume()
  const cancelling = createCancelling({ store, live, change, launch, catchUp })
  const take = (row: RunRow) =>
    holds.take(row, (reason) => void cancelling.cancel(store.findRun(row.id) ?? row, reason))

  return {
    start,
    resume,
    change,
    ...cancelling,
    live: (id) => live.get(id),
    release: (row) => holds.release(row),
    worksWith: (credential) => holds.worksWith(credential),
    isIdle: () => live.size === 0,
    isBehind: () => hasLost,
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
    const entry: LiveEntry = { ...run, id, done, submission }
    live.set(id, entry)
    holds.take(initial, (reason) => void cancelling.cancel(run.row(), reason))
    return entry
  }
}

/** Not over, and not waiting for someone outside. */
function isReady(row: RunRow, store: SessionStore): boolean {
  if (store.final(row.order)) return false
  return pausesOf(row, store.turns(row.order).at(-1)).length === 0
}
