import type { AgentResult, RunError } from '#contracts/agent.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import type { ReadyAgent, SessionRuntime } from '#contracts/runtime.ts'
import type { Lineage, RunOutcome } from '#contracts/session.ts'
import { createAcceptance } from './acceptance.ts'
import { childrenIn, type Children } from '../storage/children.ts'
import { errandsOf } from '../waiting/errands.ts'
import { failedTurn } from './failed-turn.ts'
import { fullEvents, runStarted } from '../log/log-view.ts'
import { pausesOf } from '../waiting/pauses.ts'
import { executeRun } from './run-execution.ts'
import { leaseOf } from './run-limits.ts'
import { overridesOf } from './overrides.ts'
import { isStorageFault } from '../platform-fault.ts'
import { usedUp } from './refusals.ts'
import type { RunRow, SessionStore } from '../storage/store.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Todo } from '../storage/todo.ts'
import { isTraced } from '../upkeep/trace-outbox.ts'
import type { Transcript } from '../log/transcript.ts'

/** How often a wake may find the same turn open before the run is given up. */
const maxWakes = 5
/** Messages that wait behind the running one. */
const maxQueued = 16
/** How often an accepted run asks for its lease where it cannot be asked. */
const maxLeaseTries = 5

export interface LiveRun {
  /** Resolves once the run is accepted: its row is written. Rejects if it could not be. */
  readonly accepted: Promise<void>
  /** Resolves with the terminal result or with what the run waits for, after it is written. */
  readonly done: Promise<RunOutcome>
  readonly lineage: Lineage | undefined
  /** False while it waits behind another run. */
  readonly isStarted: () => boolean
}

/** Who waits for a run: a reader of its text, or somebody for its result. */
export type Audience = 'reader' | 'result'

/** A run on its way in: everything of its row that the queue does not decide. */
export type NewRun = Pick<RunRow, 'id' | 'submission' | 'bodyHash'>

export interface RunsOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly sync: () => Promise<void>
  readonly sessionId: () => string
  /** Called in the same transaction as a run's first write, before it. */
  readonly onAccept: (run: RunRow) => void
  readonly onAccepted: () => void
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
  /** Cancels everything that is not over, and waits until each has its outcome. */
  readonly cancelAll: (reason: string) => Promise<void>
  readonly isIdle: () => boolean
  /** Something could not be written: `resume` does it again, before anything after it. */
  readonly isBehind: () => boolean
}

interface Entry extends LiveRun {
  readonly change: (more: Partial<RunRow>) => void
  readonly abort: (reason: string) => void
}

export function createRuns(options: RunsOptions): Runs {
  const { runtime, store, todo, children, hub, sessionId } = options
  const { clock } = runtime
  const live = new Map<string, Entry>()
  let queue: Promise<unknown> = Promise.resolve()
  // Read when first needed: a disk that fails must not make the object impossible to load.
  let seq: number | undefined
  let order: number | undefined
  /** What a run could not write is done again before anything after it. */
  let hasLost = false
  const nextSeq = () => (seq = (seq ?? store.lastSeq()) + 1)

  return {
    start,
    resume,
    change,
    cancel,
    live: (id) => live.get(id),
    isIdle: () => live.size === 0,
    isBehind: () => hasLost,
    cancelCall(parentRun, call, reason) {
      const isMeant = (lineage: Lineage | undefined) =>
        lineage?.parentRun === parentRun && lineage.parentCall === call
      const rows = store.runs().filter(({ submission }) => isMeant(submission.lineage))
      // One whose first request is not out yet has no row.
      const unwritten = [...live].filter(
        ([id, { lineage }]) => isMeant(lineage) && !rows.some((row) => row.id === id),
      )
      return [
        ...rows.map((row) => cancel(row, reason)),
        ...unwritten.map(([, entry]) => (entry.abort(reason), entry)),
      ]
    },
    async cancelAll(reason) {
      for (const row of store.unfinishedRuns()) cancel(row, reason)
      for (const entry of live.values()) entry.abort(reason) // also one that is not written yet
      await Promise.allSettled([...live.values()].map(({ done }) => done))
    },
    wake(id) {
      if (hasLost) return resume()
      const row = live.has(id) ? undefined : store.findRun(id)
      if (row && isReady(row)) launch(row)
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
    const row = { ...run, order, createdAtMs: clock.nowMs(), wakeTurn: 0, wakes: 0 }
    return launch(row, agent, audience)
  }

  /** Not over, and not waiting for someone outside. */
  function isReady(row: RunRow): boolean {
    if (store.final(row.order)) return false
    return pausesOf(row, store.turns(row.order).at(-1)).length === 0
  }

  function change(row: RunRow, more: Partial<RunRow>): void {
    const entry = live.get(row.id)
    if (entry) entry.change(more)
    else {
      store.writeRun({ ...row, ...more })
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

  function resume(): void {
    hasLost = false
    for (const row of store.unfinishedRuns()) {
      if (live.has(row.id)) continue
      const error = thrownBy(() => takeUp(row))
      const isMistake = error !== undefined && !isStorageFault(error)
      // A mistake of ours costs the run that meets it, and nothing else.
      const left = isMistake ? thrownBy(() => giveUp(row, 'It cannot be taken up.')) : error
      if (left === undefined) continue
      hasLost = isStorageFault(left)
      options.onLeft(row, undefined) // not even that could be written
      if (hasLost) return
    }
  }

  function takeUp(row: RunRow): void {
    const last = store.turns(row.order).at(-1)
    if (store.isDamaged(row.order)) return giveUp(row, 'Its record cannot be read.')
    if (row.startSeq === undefined) return void launch(row)
    if (pausesOf(row, last).length > 0) return
    const open = last && !last.isDone ? last.turn : (last?.turn ?? 0) + 1
    const wakes = row.wakeTurn === open ? row.wakes + 1 : 1
    const woken = { ...row, wakeTurn: open, wakes }
    store.writeRun(woken)
    if (wakes <= maxWakes) launch(woken)
    else giveUp(woken, `It was interrupted ${maxWakes} times in the same turn.`)
  }

  /** With `agent` the run is new: its row is written when its first model request is out, or when it has to wait. */
  function launch(initial: RunRow, agent?: ReadyAgent, audience: Audience = 'reader'): LiveRun {
    let row = initial
    const cancelled = new AbortController()
    if (row.cancelReason !== undefined) cancelled.abort(new Error(row.cancelReason))
    const acceptance = createAcceptance({
      isStored: agent === undefined,
      write: () =>
        store.together(() => {
          options.onAccept(row)
          store.writeRun(row)
        }),
      onStored() {
        options.onAccepted()
        hub.publish(runStarted(row))
      },
      onDeclined(error) {
        cancelled.abort(error)
      },
    })
    const isStored = () => acceptance.state() === 'stored'
    const change = (more: Partial<RunRow>) => {
      row = { ...row, ...more }
      if (isStored()) store.writeRun(row)
    }
    const begin = () => {
      if (row.startSeq !== undefined) return
      change({ startSeq: nextSeq(), startedAtMs: clock.nowMs() })
      if (isStored()) hub.publish(runStarted(row))
    }
    let isWorking = false
    const work = async (): Promise<RunOutcome> => {
      isWorking = true
      if (hasLost) throw new Error('A run before it could not be written.')
      try {
        const ready = agent ?? (await load(row))
        const limits = await lease(ready)
        begin()
        return await executeRun(
          { ...ready, spec: { ...ready.spec, limits } },
          {
            ...options,
            audience,
            nextSeq,
            persist: acceptance.persist,
            row: () => row,
            signal: cancelled.signal,
            writeFinal: (turn, final) => writeFinal(row, turn, final),
          },
        )
      } catch (thrown) {
        const isNew = acceptance.state() === 'new'
        // Nothing was spent, and nobody has an answer yet: whoever asks is told, and may ask again.
        const error = isNew && errorCode(thrown)?.startsWith('lease_') ? usedUp(thrown) : thrown
        const code = errorCode(error)
        const isDeclined = code === 'request_unavailable' || code === 'request_insufficient_quota'
        if (isNew && isDeclined) acceptance.decline(error)
        if (acceptance.state() === 'declined' || isStorageFault(error)) throw error
        begin()
        acceptance.persist()
        if (code !== undefined) return fail(row, { code, message: errorMessage(error) })
        const message = 'The run failed for an internal reason.'
        return fail(row, { code: 'internal', message }, errorMessage(error))
      }
    }
    /** Nobody has an answer yet to a run that is new; one that was accepted waits for its lease a while. */
    const lease = async ({ spec }: ReadyAgent) => {
      if (cancelled.signal.aborted) return spec.limits // it ends before it spends anything
      for (let tries = 1; ; tries += 1) {
        try {
          return await leaseOf(row, spec.limits, options)
        } catch (error) {
          const mayWait = isStored() && tries < maxLeaseTries
          if (!mayWait || errorCode(error) !== 'request_unavailable') throw error
          await clock.sleep(runtime.timing.recoverEveryMs, cancelled.signal)
        }
      }
    }

    const mustWait = live.size > 0
    if (isStored()) options.onAccepted()
    else if (mustWait) acceptance.persist()
    let outcome: RunOutcome | undefined
    const done = (mustWait ? queue.then(work) : work())
      .then((result) => (outcome = result))
      .finally(() => {
        live.delete(row.id)
        // The places in the log that it has not written are free again; who waits behind it has none yet.
        if (!outcome) seq = undefined
        if (acceptance.state() === 'declined') {
          if (live.size === 0) hub.rest()
          return
        }
        hasLost ||= !outcome
        // What it was parked for may have come while the segment was ending.
        if (outcome?.state === 'parked' && isReady(row)) launch(row)
        options.onLeft(row, outcome)
      })
    queue = done.catch(() => {})
    const entry: Entry = {
      accepted: acceptance.accepted,
      done,
      lineage: row.submission.lineage,
      isStarted: () => isWorking,
      change,
      abort: (reason) => cancelled.abort(new Error(reason)),
    }
    live.set(row.id, entry)
    return entry
  }

  async function load({ submission }: RunRow): Promise<ReadyAgent> {
    const agent = await runtime.agents.load(submission.agent, overridesOf(submission))
    if (agent) return agent
    throw new IsolaError(
      'request_model_not_found',
      `There is no agent "${submission.agent}" any more.`,
    )
  }

  function giveUp(row: RunRow, why: string): void {
    const result = fail(row, { code: 'run_given_up', message: why })
    options.onLeft(row, result)
  }

  /** Ends a run that no kernel can end. `detail` is for the audit log only. */
  function fail(row: RunRow, error: RunError, detail?: string): AgentResult {
    const turns = store.turns(row.order)
    const place = seq
    const { turn, final } = failedTurn({
      row,
      error,
      detail,
      turns,
      nextTurn: store.lastTurn(row.order) + 1,
      session: sessionId(),
      seq: nextSeq(),
      nowMs: clock.nowMs(),
    })
    try {
      writeFinal(row, turn, final)
    } catch (error) {
      seq = place
      throw error
    }
    hub.publish(fullEvents(turn))
    return final
  }

  /** The end of a run, together with what has to be told elsewhere. */
  function writeFinal(row: RunRow, turn: TurnRecord, final: AgentResult): void {
    const hasTrace = isTraced(row, runtime)
    const isAlone = final.state === 'completed' && !row.submission.lineage
    const begun = childrenIn(turn)
    if (isAlone && !hasTrace && begun.length === 0) return store.writeTurn(row.order, turn)
    store.together(() => {
      store.writeTurn(row.order, turn)
      children.add(row.order, begun)
      if (!isAlone) addErrands(row, final)
      if (hasTrace) todo.addTrace(row.id, 0)
    })
  }

  /** Whom the end of a run concerns that did not just complete, or that somebody above waits for. */
  function addErrands(row: RunRow, final: AgentResult): void {
    const turns = store.turns(row.order)
    // What an older version began may be in its turns only.
    if (!store.session()?.hasChildrenNoted)
      for (const before of turns) children.add(row.order, childrenIn(before))
    const begun = children.ofRun(row.order)
    errandsOf(row, { turns, final, children: begun }).forEach(todo.add)
  }
}

function thrownBy(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
