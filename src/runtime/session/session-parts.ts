import type { SessionRuntime } from './types/runtime.ts'
import type { Space } from '#contracts/space.ts'
import { cardOf, viewOf, type ViewOptions } from './log/views.ts'
import { createSpentTotal, type SpentTotal } from './log/spending.ts'
import { createStreamHub, type StreamHub } from './log/stream-hub.ts'
import { createTranscript, type Transcript } from './log/transcript.ts'
import { createCredentialUse } from './runs/credential-use.ts'
import { createLiveRuns, type LiveRuns } from './runs/live-runs.ts'
import { createRuns, type Runs } from './runs/runs.ts'
import { createChildren, type Children } from './storage/children.ts'
import type { Meter } from './storage/meter.ts'
import { createSpace } from './storage/space.ts'
import { createSessionStore, type SessionStore } from './storage/store.ts'
import type { RunRow, SessionRow } from './storage/stored-rows.ts'
import { createTodo, type Todo } from './storage/todo.ts'
import { createAfterRun, settleDay } from './upkeep/after-run.ts'
import { createAuditOutbox, type AuditOutbox, createEventNotes } from './upkeep/audit-outbox.ts'
import { createReport } from './upkeep/incidents.ts'
import { createRecovery } from './upkeep/recovery.ts'
import { createRetention } from './upkeep/recovery.ts'
import { createTimers, type Jobs, type Timers } from './upkeep/timers.ts'
import { createTraceOutbox, type TraceOutbox } from './upkeep/trace-outbox.ts'
import { createUpkeep, type Upkeep } from './upkeep/upkeep.ts'
import { createCourier, type Courier } from './waiting/courier.ts'
import type { RunView } from './types/session-view.ts'
import { noSuchRun, noSuchSession } from './storage/refusals.ts'
import { beingDeleted } from './upkeep/ending.ts'

/** The parts of one session; a deleted session's object gets new ones. */
export interface SessionParts {
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly spent: SpentTotal
  readonly live: LiveRuns
  readonly courier: Courier
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly outbox: AuditOutbox
  readonly traces: TraceOutbox
  readonly runs: Runs
  readonly space: Space
  readonly upkeep: Upkeep
  readonly timers: Timers
  /** Between two steps of long work: makes the rows durable, and lets other requests have the object. */
  readonly rest: () => Promise<void>
}

export interface SessionPartsOptions {
  readonly runtime: SessionRuntime
  readonly storage: DurableObjectStorage
  readonly meter: Meter
  readonly jobs: Jobs
  /** The session; its id is empty until the first request names it. */
  readonly identity: { readonly id: string }
  /** The session was not used for its retention time: it is to be deleted. */
  readonly onExpired: () => Promise<void>
}

/** Wiring only: leaves first, then the parts that use them. */
export function openParts(options: SessionPartsOptions): SessionParts {
  const { runtime, storage, identity, meter } = options
  const { clock, events: bus } = runtime
  const sync = () => storage.sync()

  const todo = createTodo(storage)
  const report = createReport({ principals: runtime.principals, identity, todo })
  const onDamaged = (order: number) =>
    report('record_unreadable', `A row of run ${order} cannot be read.`)
  const store = createSessionStore(storage, onDamaged)
  store.onForget(todo.forget)
  const children = createChildren(storage, onDamaged)
  const space = createSpace(storage, clock)
  const spent = createSpentTotal(store)
  const transcript = createTranscript(store)
  const hub = createStreamHub(sync, () => clock.sleep(0))
  const live = createLiveRuns(store)
  const base = { runtime, identity, meter, sync, store, todo, children, transcript, hub, live }

  const timers = createTimers({ ...options, clock, store })
  const retention = createRetention({ ...options, store, timers, live, todo })
  const credentials = createCredentialUse({ held: runtime.held, clock, identity, live })
  const withRun = (work: (row: RunRow) => Promise<void>) => async (run: string) => {
    const row = store.findRun(run)
    if (row) await work(row)
  }
  const courier = createCourier({
    todo,
    sessions: runtime.sessions,
    settle: withRun((row) => settleDay(row, base)),
    release: withRun(credentials.release),
    tell: bus?.tell,
    addRule: async (rule) => runtime.approvalRules?.add(rule),
    onTrouble: (problem) => report('delivery_behind', problem),
  })
  const note = createEventNotes({
    bus,
    store,
    todo,
    counted: meter.count,
    onNoted: () => void courier.carry().catch(() => {}),
  })
  const outbox = createAuditOutbox({
    note,
    store,
    live,
    clock,
    sink: runtime.audit,
    cardOf: (session) => cardOf(session, { store, runs: live, runtime, session: identity.id }),
    counted: meter.count,
  })
  const traces = createTraceOutbox({
    ...base,
    onTrouble: (problem, run) => report('telemetry_failed', problem, run),
  })
  const carriers = { ...base, timers, retention, courier, outbox, traces, report }
  const recovery = createRecovery(carriers)
  const aftermath = createAfterRun({ ...carriers, recovery })
  const runs = createRuns({
    ...base,
    outbox,
    credentials,
    ensureRecovery: recovery.ensure,
    onChanged: spent.forget,
    afterRun: aftermath.afterRun,
  })
  const upkeep = createUpkeep({ ...carriers, runs, recovery, aftermath })
  const rest = async () => {
    await sync()
    await clock.sleep(0)
  }
  const carrying = { courier, outbox, traces, timers, upkeep }
  return { store, todo, children, space, spent, transcript, hub, live, runs, ...carrying, rest }
}

/** The state of a session's object: its parts are replaced when the session is deleted. */
export interface CurrentSession {
  parts: SessionParts
  /** Requests that wait for an answer of the object. */
  answering: number
}

interface SessionAccessOptions {
  readonly runtime: SessionRuntime
  /** The session; its id is empty until the first request names it. */
  readonly identity: { id: string }
  readonly current: { readonly parts: SessionParts }
  readonly isDeleting: () => boolean
  readonly sync: () => Promise<void>
}

/** Checks and lookups for everything that answers requests to a session. */
export interface SessionAccess extends Omit<SessionAccessOptions, 'sync'> {
  readonly refuseWhileDeleting: () => void
  /** The session, if it is this principal's. An absent session and another principal's session look alike. */
  readonly own: (principal: string) => SessionRow
  readonly row: (run: string) => RunRow
  readonly view: (run: string) => RunView
  readonly viewOptions: () => ViewOptions
  /** Waits until the log is durable, including events that are written while it waits: an answer with an id needs that. */
  readonly synced: () => Promise<void>
}

export function createSessionAccess({ sync, ...options }: SessionAccessOptions): SessionAccess {
  const { runtime, identity, current, isDeleting } = options
  const viewOptions = (): ViewOptions => ({ ...current.parts, runtime, session: identity.id })
  const row = (run: string): RunRow => {
    const found = current.parts.store.findRun(run)
    if (!found) throw noSuchRun()
    return found
  }
  return {
    ...options,
    row,
    viewOptions,
    view: (run) => viewOf(row(run), viewOptions()),
    refuseWhileDeleting() {
      if (isDeleting()) throw beingDeleted()
    },
    own(principal) {
      const session = current.parts.store.session()
      if (!session || session.principal !== principal) {
        throw noSuchSession()
      }
      return session
    },
    async synced() {
      const { store } = current.parts
      for (let seq = -1; seq !== store.lastSeq();) {
        seq = store.lastSeq()
        await sync()
      }
    },
  }
}
