import type { SessionRuntime } from './types/runtime.ts'
import { cardOf, viewOf, type ViewOptions } from './log/views.ts'
import { createSpentTotal } from './log/spending.ts'
import { createStreamHub } from './log/stream-hub.ts'
import { createTranscript } from './log/transcript.ts'
import { createCredentialUse } from './runs/credential-use.ts'
import { createDayPieces } from './runs/day-pieces.ts'
import { createLiveRuns } from './runs/live-runs.ts'
import { createRuns } from './runs/runs.ts'
import { createChildren } from './storage/children.ts'
import type { Meter } from './storage/meter.ts'
import { createSpace } from './storage/space.ts'
import { createSessionStore } from './storage/store.ts'
import type { RunRow } from './storage/stored-rows.ts'
import { createTodo } from './storage/todo.ts'
import { createAfterRun, settleDay } from './upkeep/after-run.ts'
import { createAuditOutbox, createEventNotes } from './upkeep/audit-outbox.ts'
import { createReport } from './upkeep/incidents.ts'
import { createRecovery, createRetention } from './upkeep/recovery.ts'
import { createTimers, type Jobs } from './upkeep/timers.ts'
import { createTraceOutbox } from './upkeep/trace-outbox.ts'
import { createUpkeep } from './upkeep/upkeep.ts'
import { createCourier } from './waiting/courier.ts'
import { noSuchRun, noSuchSession } from './storage/refusals.ts'
import { beingDeleted } from './upkeep/ending.ts'

/** The parts of one session; a deleted session's object gets new ones. */
export type SessionParts = ReturnType<typeof openParts>

interface SessionPartsOptions {
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
export function openParts(options: SessionPartsOptions) {
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
  const pieces = createDayPieces(todo)
  const records = { store, todo, children, pieces, transcript }
  const base = { runtime, identity, meter, sync, ...records, hub, live }

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
    settle: withRun(async (row) => void (await settleDay(row, base))),
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
  /** Between two steps of long work: makes the rows durable, and lets other requests have the object. */
  const rest = async () => {
    await sync()
    await clock.sleep(0)
  }
  const carrying = { courier, outbox, traces, timers, upkeep }
  return {
    ...records,
    space,
    spent,
    hub,
    live,
    runs,
    ...carrying,
    rest,
  }
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
export type SessionAccess = ReturnType<typeof createSessionAccess>

export function createSessionAccess({ sync, ...options }: SessionAccessOptions) {
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
    view: (run: string) => viewOf(row(run), viewOptions()),
    refuseWhileDeleting: () => {
      if (isDeleting()) throw beingDeleted()
    },
    /** The session, if it is this principal's. An absent session and another principal's session look alike. */
    own: (principal: string) => {
      const session = current.parts.store.session()
      if (!session || session.principal !== principal) {
        throw noSuchSession()
      }
      return session
    },
    /**
     * Waits until the log is durable, including events that are written while it waits: an answer with an id needs
     * that.
     */
    synced: async () => {
      const { store } = current.parts
      for (let seq = -1; seq !== store.lastSeq();) {
        seq = store.lastSeq()
        await sync()
      }
    },
  }
}
