import { errorMessage } from '#contracts/errors.ts'
import type { Floor } from '#contracts/floor.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { RunOutcome } from '../types/run-view.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import { createReport, type Report } from './incidents.ts'
import type { Jobs, SetAlarm } from './jobs.ts'
import { createRecovery } from './recovery.ts'
import { createRetention } from './retention.ts'
import type { Courier } from '../waiting/courier.ts'
import type { Runs } from '../runs/runs.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Todo } from '../storage/todo.ts'
import type { TraceOutbox } from './trace-outbox.ts'
import type { Transcript } from '../log/transcript.ts'
import { spendingOf } from '../log/views.ts'

export interface UpkeepParts {
  readonly store: SessionStore
  readonly todo: Todo
  readonly runs: Runs
  readonly outbox: AuditOutbox
  readonly courier: Courier
  readonly traces: TraceOutbox
  readonly hub: StreamHub
  readonly transcript: Transcript
}

export interface UpkeepOptions {
  readonly runtime: SessionRuntime
  readonly jobs: Jobs
  readonly setAlarm: SetAlarm
  /** Makes rows of the timers, where they have none. */
  readonly keepRows: () => Promise<void>
  readonly sessionId: () => string
  readonly parts: () => UpkeepParts
  readonly onExpired: () => Promise<void>
  readonly meter: PlatformCount
}

/** What a session owes beyond its answers: to end what it began, to carry what concerns others, to say what is wrong. */
export interface Upkeep {
  /** After the object was loaded: is there a job already? */
  readonly begin: () => void
  /** One job while a run is live or something is to be carried. Written in the same go as what needs it. */
  readonly ensureRecovery: () => void
  /** The alarm was set to later than what is to be done: the next run sets it anew. */
  readonly alarmMoved: () => void
  /** What there was to carry was carried: if nothing is left to do, the alarm is the next timer's. Never rejects. */
  readonly rest: () => Promise<void>
  /** @returns When to come back, if there is something left to do. Never throws: a job that fails for good is forgotten, and with it the runs it was for. */
  readonly onJob: (fn: string) => Promise<number | undefined>
  /** What follows a segment: the record, whoever else is concerned, and the lease above it. */
  readonly afterRun: (row: RunRow, outcome: RunOutcome | undefined) => void
  /** Tells the principal's day what a run has spent by now. Rejects if it cannot be told. */
  readonly settle: (row: RunRow) => Promise<void>
  /** Does what is to be done elsewhere, and comes back for what could not be. */
  readonly carry: () => void
  /** The session was made: it is listed, and deleted when nobody has come back to it for long. */
  readonly afterCreate: () => void
  /** A call was cancelled before it came: that is remembered for as long as it may still come. */
  readonly keepGraves: () => void
  /** Without a message: it is over. */
  readonly report: Report
  /** The session is off the list in a moment: it is deleted, also if its object ends before that. */
  readonly leaveLater: () => Promise<void>
  /** The object is emptied later, also if it ends before that. */
  readonly vanishLater: () => Promise<void>
  /** The session was deleted, whatever becomes of its timers: one that is left finds nothing to do. Never rejects. */
  readonly end: () => Promise<void>
}

export const vanishJob = 'vanish'
/** The time of whoever has the conversation is up. */
export const floorJob = 'floor'

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const { runtime, jobs, keepRows, sessionId, parts } = options
  const { clock, timing, principals } = runtime
  const report = createReport({ principals, sessionId, todo: () => parts().todo })
  const retention = createRetention(options)
  const recovery = createRecovery({ ...options, report, onRest: retention.keep })

  const keepGraves = () => {
    if (jobs.get('graves')) return
    const time = clock.nowMs() + timing.keepGravesMs
    jobs.push({ id: 'graves', fn: 'graves', time }).catch(() => {}) // the next one asks for it again
  }
  const dropGraves = () => {
    const oldest = parts().todo.dropGraves(clock.nowMs() - timing.keepGravesMs)
    return oldest === undefined ? undefined : oldest + timing.keepGravesMs
  }

  const watchPauses = (pauses: readonly { readonly expiresAtMs?: number }[]) => {
    const ends = pauses.flatMap(({ expiresAtMs }) => expiresAtMs ?? [])
    if (ends.length === 0) return
    const planned = jobs.get('pauses')?.time ?? Number.MAX_SAFE_INTEGER
    const time = Math.min(planned, ...ends)
    jobs.push({ id: 'pauses', fn: 'pauses', time }).catch(recovery.ensure)
  }

  const watchFloor = () => watchFloorOf(parts().store.floor(), jobs).catch(recovery.ensure)

  const settle = async (row: RunRow) => {
    if (row.submission.lineage) return // a child's part is out of its parent's
    const { state, usage, step } = spendingOf(row, parts())
    if (state === 'open') return // it keeps what it reserved
    const { principal, dayLimits: limits } = row.submission
    const { count: counted } = options.meter
    const about = {
      principal,
      session: sessionId(),
      run: row.id,
      ...(limits && { limits }),
      counted,
    }
    const spent = { tokens: usage.tokens, costNanoUsd: usage.costNanoUsd }
    await principals.settle({ ...about, spent, ...(step !== undefined && { step }) })
  }

  /** The run as it is stored by now. The day's ledger asks by itself for what it was not told. */
  const settleRun = async (row: RunRow) => settle(parts().store.findRun(row.id) ?? row)

  const carryAll = async () => {
    const { courier } = parts()
    if (courier.isDone()) return
    recovery.ensure()
    await courier.carry()
    // The timer of what is left has a row.
    if (!courier.isDone()) await keepRows()
  }
  // What cannot be read or stored just now is looked at again.
  const carry = () => void carryAll().catch(recovery.ensure)

  return {
    report,
    ensureRecovery: recovery.ensure,
    alarmMoved: recovery.alarmMoved,
    rest: () => recovery.rest().catch(() => {}), // its job comes
    settle,
    carry,
    leaveLater: retention.leave,
    keepGraves,
    begin() {
      recovery.begin()
      void watchFloor()
    },
    afterCreate() {
      recovery.ensure()
      parts().outbox.nudge()
    },
    async onJob(fn) {
      try {
        if (fn === 'pauses') return recovery.expire()
        if (fn === 'graves') return dropGraves()
        return fn === 'retention' ? await retention.expire() : await recovery.recover()
      } catch (error) {
        report('alarm_failed', errorMessage(error))
        if (fn === 'retention') return retention.failed()
        return clock.nowMs() + timing.recoverEveryMs
      }
    },
    afterRun(row, outcome) {
      const { outbox, runs, hub, traces } = parts()
      outbox.nudge()
      traces.nudge()
      carry()
      if (outcome === undefined) {
        report('storage_failed', 'The end of a run could not be written.', row.id)
      } else report('storage_failed', undefined)
      if (outcome) settleRun(row).catch(() => {})
      if (outcome?.state === 'parked') watchPauses(outcome.pauses)
      else if (outcome) {
        const { error } = outcome
        if (error?.code === 'run_given_up') report('run_given_up', error.message, row.id)
        if (error && isOfModel(error.code, row)) report('model_failing', error.message, row.id)
        else if (outcome.state === 'completed') report('model_failing', undefined)
      }
      void watchFloor()
      if (runs.isIdle()) hub.rest()
    },
    async vanishLater() {
      // Whoever was woken by it asks for it as well, and would move it away from under itself.
      if (jobs.get(vanishJob)) return
      const time = clock.nowMs() + timing.vanishAgainMs
      await jobs.push({ id: vanishJob, fn: vanishJob, time })
    },
    async end() {
      recovery.end()
      retention.end()
      await Promise.allSettled(
        ['recover', 'pauses', 'retention', 'graves', floorJob].map((job) => jobs.cancel(job)),
      )
    },
  }
}

/** Whether an operator is to look at a model. A name that no provider serves concerns the caller who gave it. */
const isOfModel = (code: string, { submission }: RunRow): boolean =>
  code.startsWith('model_') && (code !== 'model_not_found' || submission.model === undefined)

/** Sets the timer of whoever has the conversation. One that is left of a floor before may be due much later. */
async function watchFloorOf(floor: Floor | undefined, jobs: Jobs): Promise<void> {
  if (!floor || floor.end) return
  const planned = jobs.get(floorJob)
  if (planned && planned.time <= floor.untilMs) return
  await jobs.push({ id: floorJob, fn: floorJob, time: floor.untilMs })
}
