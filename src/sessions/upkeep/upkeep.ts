import { errorMessage } from '#contracts/errors.ts'
import type { Incident } from '#contracts/principal.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { RunOutcome } from '#contracts/session.ts'
import { expirePauses } from '../waiting/outside.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Courier } from '../waiting/courier.ts'
import type { Runs } from '../runs/runs.ts'
import { lastUsedMs } from '../log/session-card.ts'
import type { RunRow, SessionRow, SessionStore } from '../storage/store.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Todo } from '../storage/todo.ts'
import type { TraceOutbox } from './trace-outbox.ts'
import type { Transcript } from '../log/transcript.ts'
import { spendingOf } from '../log/views.ts'

/** The object's durable timers: the part of `agents/lifecycle`'s jobs that is used here. */
export interface Jobs {
  readonly get: (id: string) => { readonly time: number } | undefined
  readonly push: (job: { id: string; fn: string; time: number }) => Promise<unknown>
  readonly cancel: (id: string) => Promise<unknown>
}

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
  readonly sessionId: () => string
  readonly parts: () => UpkeepParts
  readonly onExpired: () => Promise<void>
}

/** What a session owes beyond its answers: to end what it began, to carry what concerns others, to say what is wrong. */
export interface Upkeep {
  /** After the object was loaded: is there a job already? */
  readonly begin: () => void
  /** One job while a run is live or something is to be carried. Written in the same go as what needs it. */
  readonly ensureRecovery: () => void
  /** @returns When to come back, if there is something left to do. Never throws: a job that fails for good is forgotten, and with it the runs it was for. */
  readonly onJob: (fn: string) => Promise<number | undefined>
  /** What follows a segment: the record, whoever else is concerned, and the lease above it. */
  readonly afterRun: (row: RunRow, outcome: RunOutcome | undefined) => void
  /** Tells the principal's day what a run has spent by now. Rejects if it cannot be told. */
  readonly settle: (run: string) => Promise<void>
  /** Does what is to be done elsewhere, and comes back for what could not be. */
  readonly carry: () => void
  /** The session was made: it is listed, and deleted when nobody has come back to it for long. */
  readonly afterCreate: () => void
  /** A call was cancelled before it came: that is remembered for as long as it may still come. */
  readonly keepGraves: () => void
  /** Without a message: it is over. */
  readonly report: (kind: Incident['kind'], message: string | undefined, run?: string) => void
  /** The session was deleted. */
  readonly end: () => Promise<void>
}

const maxProblemChars = 200
const maxBackoffFactor = 360
/** How long it takes at most until a session notices that it is to be kept for less. */
const lookEveryMs = 30 * 86_400_000

function attempt(work: () => boolean): boolean {
  try {
    return work()
  } catch {
    return false
  }
}

export function createUpkeep({
  runtime,
  jobs,
  sessionId,
  parts,
  onExpired,
}: UpkeepOptions): Upkeep {
  const { clock, timing, principals } = runtime
  const told = new Set<Incident['kind']>()
  let hasRecoveryJob = false
  const inAWhile = () => clock.nowMs() + timing.recoverEveryMs

  const report: Upkeep['report'] = (kind, message, run) => {
    const about = { kind, session: sessionId(), ...(run !== undefined && { run }) }
    if (message !== undefined) {
      // What was told is remembered over a restart, so that its end is told too; where nothing can be stored, it is not.
      told.add(kind)
      attempt(() => parts().todo.noteTrouble(kind))
      principals.report({ ...about, message: message.slice(0, maxProblemChars) })
      return
    }
    const wasStored = attempt(() => parts().todo.clearTrouble(kind))
    if (told.delete(kind) || wasStored) principals.report({ ...about, message: '', isOver: true })
  }

  const expire = () => expirePauses(parts(), { nowMs: clock.nowMs(), pauseMs: timing.pauseMs })

  const ensureRecovery = () => {
    if (hasRecoveryJob) return
    hasRecoveryJob = true
    jobs.push({ id: 'recover', fn: 'recover', time: inAWhile() }).catch(() => {
      hasRecoveryJob = false // the next run asks for it again
    })
  }

  const recover = async (): Promise<number | undefined> => {
    const { runs, outbox, courier, traces } = parts()
    if (runs.isBehind()) runs.resume()
    await courier.carry()
    const isCarried = await outbox.flush()
    report('audit_behind', isCarried ? undefined : 'The database does not take the audit log.')
    report('alarm_failed', undefined)
    expire()
    traces.retry()
    const isQuiet = runs.isIdle() && !runs.isBehind() && isCarried && outbox.isEmpty()
    if (isQuiet && courier.isDone() && traces.isDone()) {
      hasRecoveryJob = false
      keep()
      return undefined
    }
    // Somebody who cannot be reached for hours is not asked every few seconds.
    const failures = Math.max(courier.failures(), traces.failures())
    const factor = isQuiet ? Math.min(2 ** failures, maxBackoffFactor) : 1
    return clock.nowMs() + timing.recoverEveryMs * factor
  }

  /** One job for the life of the session: it looks when it is due whether anything has happened meanwhile. */
  const keep = () => {
    const session = parts().store.session()
    if (!session || session.lineage || jobs.get('retention')) return
    const time = nextLookMs(expiresAtMs(session))
    // Not even that could be stored: the next run asks for it again.
    jobs.push({ id: 'retention', fn: 'retention', time }).catch(() => {})
  }
  const nextLookMs = (dueMs: number) => Math.min(dueMs, clock.nowMs() + lookEveryMs)
  const expiresAtMs = (session: SessionRow) =>
    lastUsedMs(parts().store, session) +
    (session.isStateless ? timing.keepStatelessMs : timing.keepNamedMs)

  const expireSession = async (): Promise<number | undefined> => {
    const { store, runs } = parts()
    const session = store.session()
    if (!session) return undefined
    const dueMs = expiresAtMs(session)
    if (clock.nowMs() < dueMs) return nextLookMs(dueMs)
    if (!runs.isIdle()) return inAWhile()
    await onExpired()
    return undefined
  }

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
    jobs.push({ id: 'pauses', fn: 'pauses', time }).catch(ensureRecovery)
  }

  const settle = async (run: string) => {
    const { store } = parts()
    const row = store.findRun(run)
    if (!row || row.submission.lineage) return // a child's part is out of its parent's
    const { state, usage, step } = spendingOf(row, parts())
    if (state === 'open') return // it keeps what it reserved
    const { principal, dayLimits: limits } = row.submission
    const about = { principal, session: sessionId(), run, ...(limits && { limits }) }
    const spent = { tokens: usage.tokens, costNanoUsd: usage.costNanoUsd }
    await principals.settle({ ...about, spent, ...(step !== undefined && { step }) })
  }

  const carry = () => {
    if (parts().courier.isDone()) return
    ensureRecovery()
    void parts().courier.carry()
  }

  return {
    report,
    ensureRecovery,
    settle,
    carry,
    keepGraves,
    afterCreate() {
      ensureRecovery()
      parts().outbox.nudge()
    },
    begin() {
      hasRecoveryJob = sessionId() !== '' && jobs.get('recover') !== undefined
    },
    async onJob(fn) {
      try {
        if (fn === 'pauses') return expire()
        if (fn === 'graves') return dropGraves()
        return fn === 'retention' ? await expireSession() : await recover()
      } catch (error) {
        report('alarm_failed', errorMessage(error))
        return inAWhile()
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
      // The day's ledger asks by itself for what it was not told.
      if (outcome) settle(row.id).catch(() => {})
      if (outcome?.state === 'parked') watchPauses(outcome.pauses)
      else if (outcome) {
        const { error } = outcome
        if (error?.code === 'run_given_up') report('run_given_up', error.message, row.id)
        if (error?.code.startsWith('model_')) report('model_failing', error.message, row.id)
        else if (outcome.state === 'completed') report('model_failing', undefined)
      }
      if (runs.isIdle()) hub.rest()
    },
    async end() {
      hasRecoveryJob = false
      await jobs.cancel('recover')
      await jobs.cancel('pauses')
      await jobs.cancel('retention')
      await jobs.cancel('graves')
    },
  }
}
