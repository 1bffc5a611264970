import type { Floor } from '../types/floor.ts'
import type { DayPiece, DaySettlement } from '../types/principal.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { RunOutcome } from '../types/session-view.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import { spendingOf } from '../log/views.ts'
import type { DayPieces } from '../runs/day-pieces.ts'
import type { LiveRuns } from '../runs/live-runs.ts'
import type { Meter } from '../storage/meter.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Report } from './incidents.ts'
import type { Recovery, RecoveryParts } from './recovery.ts'
import type { Timers } from './timers.ts'

const nothing = { tokens: 0, costNanoUsd: 0 }

/** The job that ends a handoff when its time is over. */
export const floorJob = 'floor'

interface SettleParts {
  readonly runtime: SessionRuntime
  readonly identity: { readonly id: string }
  readonly store: SessionStore
  readonly live: LiveRuns
  readonly meter: Meter
  readonly pieces: DayPieces
}

export interface AfterRunParts extends SettleParts, RecoveryParts {
  readonly runtime: SessionRuntime
  readonly hub: StreamHub
  readonly recovery: Recovery
  /** Without a message: the incident is over. */
  readonly report: Report
}

/**
 * The work that follows a segment of a run: the audit record, outbox entries, incidents, and the timers of its pauses.
 */
export type AfterRun = ReturnType<typeof createAfterRun>

export function createAfterRun(parts: AfterRunParts) {
  const { store, live, hub, outbox, traces, courier, timers, recovery, report } = parts
  const { jobs, keepRows } = timers

  const carryAll = async () => {
    if (courier.isDone()) return
    recovery.ensure()
    await courier.carry()
    // The timer for the remaining outbox entries has a row.
    if (!courier.isDone()) await keepRows()
  }
  // The recovery job looks again at rows that cannot be read or stored just now.
  const carry = () => void carryAll().catch(recovery.ensure)
  const atRest = async () => {
    await recovery.rest().catch(() => {}) // the recovery job comes
    bookRest({ ...parts, deployment: parts.runtime.deployment })
  }
  const recordSoon = () => outbox.nudge(atRest)
  const watchFloor = () => watchFloorOf(store.floor(), timers).catch(recovery.ensure)
  const watchPauses = (pauses: readonly { readonly expiresAtMs?: number }[]) => {
    const ends = pauses.flatMap(({ expiresAtMs }) => expiresAtMs ?? [])
    if (ends.length === 0) return
    const planned = jobs.get('pauses')?.time ?? Number.MAX_SAFE_INTEGER
    const time = Math.min(planned, ...ends)
    jobs.push({ id: 'pauses', fn: 'pauses', time }).catch(recovery.ensure)
  }
  /** The run as it is stored now. The day's ledger fetches spending that did not reach it. */
  const settle = async (row: RunRow) => settleAndAsk(store.findRun(row.id) ?? row, parts)

  return {
    /** Sends the outbox entries to other objects, and sets the recovery timer for the rest. */
    carry,
    /** Sends the log to the audit record soon. */
    recordSoon,
    /** Sets the timer of the handoff, if an agent has the conversation. */
    watchFloor,
    afterRun: (row: RunRow, outcome: RunOutcome | undefined) => {
      recordSoon()
      traces.nudge()
      carry()
      if (outcome === undefined) {
        report('storage_failed', 'The end of a run could not be written.', row.id)
      } else report('storage_failed', undefined)
      if (outcome) settle(row).catch(() => {})
      if (outcome?.state === 'parked') watchPauses(outcome.pauses)
      else if (outcome) {
        const { error } = outcome
        if (error?.code === 'run_given_up') report('run_given_up', error.message, row.id)
        if (error && isOfModel(error.code, row)) report('model_failing', error.message, row.id)
        else if (outcome.state === 'completed') report('model_failing', undefined)
      }
      void watchFloor()
      if (live.isIdle()) hub.rest()
    },
  }
}

/**
 * Settles a run that is over, and asks for what the next run of the session will ask: a session that is used once, or
 * whose own limits are less with each run, asks for nothing.
 */
async function settleAndAsk(row: RunRow, parts: SettleParts): Promise<void> {
  const { store, pieces } = parts
  const { isStateless, limits } = store.session() ?? { isStateless: true }
  const isOver = store.final(row.order)?.state === 'completed'
  const next = isStateless || limits || !isOver ? undefined : pieces.next(row.id)
  if (!next) return void (await settleDay(row, parts))
  let given: DayPiece | undefined
  try {
    given = await settleDay(row, parts, next)
  } finally {
    pieces.answered(next.id, given)
  }
}

/** Settles a run's spending so far in the principal's day. Rejects if the ledger cannot be reached. */
export async function settleDay(
  row: RunRow,
  parts: SettleParts,
  next?: DaySettlement['next'],
): Promise<DayPiece | undefined> {
  const { store, live, identity, meter, runtime, pieces } = parts
  if (row.submission.lineage) return undefined // a child's lease is part of its parent's
  const { state, usage, step } = spendingOf(row, { store, runs: live })
  const { principal, dayLimits: limits } = row.submission
  const piece = pieces.of(row.id)
  const about = {
    principal,
    session: identity.id,
    run: row.id,
    ...(piece !== undefined && { piece }),
    ...(limits && { limits }),
    counted: meter.count,
  }
  if (state === 'open') {
    // The run keeps its reservation. While it waits, the ledger has to know which it is: a raise asks for it.
    if (piece === undefined || live.live(row.id)) return undefined
    await runtime.principals.reserve({ ...about, asked: nothing, step: 1 })
    pieces.settled(piece)
    return undefined
  }
  const given = await runtime.principals.settle({
    ...about,
    ...(next && { next }),
    spent: { tokens: usage.tokens, costNanoUsd: usage.costNanoUsd },
    ...(step !== undefined && { step }),
  })
  if (piece !== undefined) pieces.settled(piece)
  return given
}

/** Books platform use that belongs to no run, while none is live, with the deployment. Never throws. */
export function bookRest(parts: {
  readonly live: Pick<LiveRuns, 'isIdle'>
  readonly outbox: Pick<AuditOutbox, 'isEmpty'>
  readonly meter: Meter
  readonly deployment: PlatformCount | undefined
}): void {
  const { live, outbox, meter, deployment } = parts
  try {
    if (!live.isIdle()) return
    // The rows that the last run was booked with beforehand are written.
    if (outbox.isEmpty()) meter.paid()
    deployment?.count(meter.leftover())
  } catch {
    // Other readers of a failing disk report it; the amounts are booked later.
  }
}

/** Whether an operator has to look at a model. A name that no provider serves concerns the caller who gave it. */
const isOfModel = (code: string, { submission }: RunRow): boolean =>
  code.startsWith('model_') && (code !== 'model_not_found' || submission.model === undefined)

/** A timer that an earlier handoff left may be due much later. */
async function watchFloorOf(floor: Floor | undefined, { jobs }: Timers): Promise<void> {
  if (!floor || floor.end) return
  const planned = jobs.get(floorJob)
  if (planned && planned.time <= floor.untilMs) return
  await jobs.push({ id: floorJob, fn: floorJob, time: floor.untilMs })
}
