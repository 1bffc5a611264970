import { IsolaError } from '#contracts/errors.ts'
import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import type { RunOutcome } from '../types/session-view.ts'
import { runStarted } from '../log/log-view.ts'
import { spentAfter } from '../log/spending.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Transcript } from '../log/transcript.ts'
import type { Children } from '../storage/children.ts'
import type { Meter } from '../storage/meter.ts'
import type { DayPieces } from './day-pieces.ts'
import { withPin, begun } from '../storage/session-row.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Todo } from '../storage/todo.ts'

/** What the caller of a run wants: its text as it arrives, or only its result. */
export type Audience = 'reader' | 'result'

/** A run while this object works on it, until it ends or is parked: its row and its progress. */
export interface Run {
  readonly id: string
  readonly submission: RunRow['submission']
  /** The run as it stands: inputs that arrived meanwhile are in it. */
  row: RunRow
  /** Set for a new run: its row is written when its first model request is on its way, or when the run has to wait. */
  readonly agent: ReadyAgent | undefined
  readonly audience: Audience
  /**
   * Of a new run whose request came with a claim: rejects if the claim does not hold. Awaited before the run has any
   * effect.
   */
  readonly proof?: Promise<void> | undefined
  /** `new`: the run has no row yet. `declined`: its row could not be written, so nothing of the run stays. */
  state: 'new' | 'stored' | 'declined'
  /** Resolves once the row of the run is written; rejects if it could not be. */
  readonly accepted: Promise<void>
  readonly acceptance: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>
  readonly stop: AbortController
  /** False while the run waits behind another one. */
  isStarted: boolean
}

/** A new run on its way in. */
export type Admission = Pick<Run, 'audience' | 'proof'> & { readonly agent: ReadyAgent }

/** A run that this object works on, or that waits here for its turn in the queue. */
export interface LiveRun extends Run {
  /** Resolves with the terminal result or with the pauses of the run, after they are written. */
  readonly done: Promise<RunOutcome>
}

/** The parts of its session that a run works with. */
export interface RunParts {
  readonly runtime: SessionRuntime
  readonly identity: { readonly id: string }
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly meter: Meter
  readonly pieces: DayPieces
  /** The outbox of the audit record. */
  readonly outbox: { readonly begin: () => void; readonly isListed: () => boolean }
  readonly live: LiveRuns
  readonly sync: () => Promise<void>
  /** Sees to it that the object wakes again while there is an unfinished run. */
  readonly ensureRecovery: () => void
}

/**
 * The runs that this object works on, and which places of the session they take: in the order of its runs, and in its
 * log. Both are read from the database when they are first needed: a failing disk must not keep the object from
 * loading.
 */
export type LiveRuns = ReturnType<typeof createLiveRuns>

export function createLiveRuns(store: SessionStore) {
  const byId = new Map<string, LiveRun>()
  let order: number | undefined
  let seq: number | undefined
  return {
    byId,
    /** A run could not write its end: the session does that again before it begins anything else. */
    isBehind: false,
    live: (id: string) => byId.get(id),
    isIdle: () => byId.size === 0,
    /** All runs without an end, written or not. */
    unfinished: () => [...store.unfinishedRuns(), ...byId.values()].map((run) => run.submission),
    /** The order of the newest run. */
    lastOrder: () => order ?? store.lastOrder(),
    nextOrder: () => (order = (order ?? store.lastOrder()) + 1),
    /** Frees the order of a declined run, unless a run has come after it. */
    freeOrder: (declined: number) => {
      if (order === declined) order -= 1
    },
    nextSeq: () => (seq = (seq ?? store.lastSeq()) + 1),
    /** The last place of the log that was taken; `undefined` if none was since the log was read. */
    lastSeq: () => seq,
    /** Frees every place of the log behind this one; without an argument all places that were not written. */
    freeSeqs: (after?: number) => void (seq = after),
  }
}

export function createRun(
  row: RunRow,
  { agent, audience, proof }: Pick<Run, 'audience' | 'proof'> & Partial<Pick<Run, 'agent'>>,
): Run {
  const stop = new AbortController()
  if (row.cancelReason !== undefined) stop.abort(new Error(row.cancelReason))
  const { promise: accepted, ...acceptance } = Promise.withResolvers<void>()
  accepted.catch(() => {}) // the caller that waits for it sees the refusal
  if (!agent) acceptance.resolve()
  const { id, submission } = row
  const state = agent ? 'new' : 'stored'
  const progress = { state, isStarted: false } as const
  return { id, submission, row, agent, audience, proof, accepted, acceptance, stop, ...progress }
}

export const stopRun = (run: Run, reason: string): void => run.stop.abort(new Error(reason))

/** Accepts a new run by writing its first row; declines it and throws if the row cannot be written. */
export function persistRun(run: Run, parts: RunParts): void {
  if (run.state === 'stored') return
  if (run.state === 'declined') {
    throw new IsolaError('request_unavailable', 'The run could not be stored. Try again.')
  }
  try {
    run.row = writeFirst(run, parts)
  } catch (error) {
    declineRun(run, error)
    throw error
  }
  run.state = 'stored'
  parts.ensureRecovery()
  parts.hub.publish(runStarted(run.row))
  run.acceptance.resolve()
}

/** Ends a new run of which nothing is stored. */
export function declineRun(run: Run, error: unknown): void {
  run.state = 'declined'
  run.stop.abort(error)
  run.acceptance.reject(error)
}

/** Changes a run that is live; its row too, once it is written. */
export function changeRun(run: Run, more: Partial<RunRow>, parts: RunParts): void {
  const before = run.row
  run.row = { ...before, ...more }
  if (run.state === 'stored') changeRow(before, more, parts)
}

/** Changes the row of a run, over or not. */
export function changeRow(
  row: RunRow,
  more: Partial<RunRow>,
  { store }: Pick<RunParts, 'store'>,
): void {
  const after = { ...row, ...more }
  const isCounted = store.session()?.limits && store.final(row.order)
  if (!isCounted) return store.writeRun(after)
  const spent = spentAfter(row, after, store)
  store.together(() => {
    store.writeRun(after)
    store.writeSpent(spent)
  })
}

/** Writes the first row of a run, and the session's row where this is its first run: both, or neither. */
function writeFirst({ row: run, agent }: Run, parts: RunParts): RunRow {
  const { store, outbox, identity, runtime } = parts
  const before = store.session()
  const session = begun(before, run.submission, {
    id: identity.id,
    nowMs: runtime.clock.nowMs(),
  })
  const { row, freed } = withPin(run, agent?.pin, store)
  if (!session && freed.length === 0) {
    store.addRun(row) // mostly one row: no transaction around it
    return row
  }
  store.together(() => {
    if (session) store.writeSession(session)
    store.addRun(row)
    freed.forEach(store.writeRun)
  })
  if (!before) outbox.begin()
  return row
}
