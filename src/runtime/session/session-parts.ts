import type { SessionRuntime } from './types/runtime.ts'
import type { Space } from './types/space.ts'
import { createAuditOutbox, type AuditOutbox } from './upkeep/audit-outbox.ts'
import { createChildren, type Children } from './storage/children.ts'
import { createCourier, type Courier } from './waiting/courier.ts'
import { writeFirst } from './runs/first-write.ts'
import { createEventNotes } from './upkeep/event-notes.ts'
import { bookRest } from './upkeep/rest-bill.ts'
import { createRunBill } from './runs/run-bill.ts'
import { createRuns, type Runs } from './runs/runs.ts'
import { cardOf, kindOf } from './log/session-card.ts'
import { createSpentTotal, type SpentTotal } from './log/spent-total.ts'
import { createSpace } from './storage/space.ts'
import { createSessionStore, type SessionStore } from './storage/store.ts'
import { createStreamHub, type StreamHub } from './log/stream-hub.ts'
import { createTodo, type Todo } from './storage/todo.ts'
import { createTraceOutbox, type TraceOutbox } from './upkeep/trace-outbox.ts'
import { createTranscript, type Transcript } from './log/transcript.ts'
import type { Meter } from './storage/meter.ts'
import type { Jobs } from './upkeep/jobs.ts'
import { createTimers, type Timers } from './upkeep/timers.ts'
import { createUpkeep, type Upkeep } from './upkeep/upkeep.ts'

/** What an object remembers of its session and works on it with; made anew when the session is deleted. */
export interface SessionParts {
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly spent: SpentTotal
  readonly courier: Courier
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly outbox: AuditOutbox
  readonly traces: TraceOutbox
  readonly runs: Runs
  readonly space: Space
  readonly upkeep: Upkeep
  readonly timers: Timers
  /** Between two steps of long work: what was written is durable, and others have had the object. */
  readonly rest: () => Promise<void>
}

export interface SessionPartsOptions {
  readonly runtime: SessionRuntime
  readonly storage: DurableObjectStorage
  readonly meter: Meter
  readonly jobs: Jobs
  readonly sessionId: () => string
  /** Nobody has come back to the session for so long that it is to be deleted. */
  readonly onExpired: () => Promise<void>
}

/** Wiring only: leaves first, then what uses them. */
export function openParts(options: SessionPartsOptions): SessionParts {
  const { runtime, storage, sessionId, meter } = options
  const { audit, clock, sessions, events: bus } = runtime
  const sync = () => storage.sync()
  const timers = createTimers({ ...options, clock, isKept: () => store.session() !== undefined })
  const upkeep = createUpkeep({
    ...options,
    jobs: timers.jobs,
    setAlarm: timers.setAlarm,
    keepRows: timers.keepRows,
    parts: () => parts,
  })
  const { report } = upkeep
  const onDamaged = (order: number) =>
    report('record_unreadable', `A row of run ${order} cannot be read.`)
  const store = createSessionStore(storage, onDamaged)
  const todo = createTodo(storage, store.onForget)
  const children = createChildren(storage, onDamaged)
  const spent = createSpentTotal(store)
  const courier = createCourier({
    todo,
    sessions,
    async settle(run) {
      const row = store.findRun(run)
      if (row) await upkeep.settle(row)
    },
    async release(run) {
      const row = store.findRun(run)
      if (row) await runs.release(row)
    },
    tell: bus?.tell,
    addRule: async (rule) => runtime.approvalRules?.add(rule),
    onTrouble: (problem) => report('delivery_behind', problem),
  })
  const hub = createStreamHub(sync, () => clock.sleep(0))
  const transcript = createTranscript(store)
  const rest = () => bookRest({ runs, outbox, meter, deployment: runtime.deployment })
  const kind = () => kindOf(store.session())
  const view = () => ({ store, runs, runtime, session: sessionId() })
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
    sink: audit,
    clock,
    cardOf: (session) => cardOf(session, view()),
    isIdle: () => runs.isIdle(),
    onCarried: () => upkeep.rest().then(rest),
    counted: meter.count,
  })
  const traces = createTraceOutbox({
    runtime,
    store,
    todo,
    transcript,
    sync,
    sessionId,
    onTrouble: (problem, run) => report('telemetry_failed', problem, run),
  })
  const runs = createRuns({
    runtime,
    store,
    todo,
    children,
    hub,
    transcript,
    sync,
    sessionId,
    billOf: (turns) => createRunBill({ meter, turns, kind, isListed: outbox.isListed }),
    writeFirst: (run, pin) => writeFirst(run, pin, { store, outbox, sessionId, clock }),
    onAccepted: upkeep.ensureRecovery,
    counted: meter.count,
    onChanged: spent.forget,
    onLeft: upkeep.afterRun,
  })
  const space = createSpace(storage, clock)
  const parts: SessionParts = {
    store,
    todo,
    children,
    spent,
    courier,
    hub,
    transcript,
    outbox,
    traces,
    runs,
    space,
    upkeep,
    timers,
    async rest() {
      await sync()
      await clock.sleep(0)
    },
  }
  return parts
}
