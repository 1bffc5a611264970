import type { Lifecycle } from 'agents/lifecycle'
import type { SessionRuntime } from './types/runtime.ts'
import {
  type SessionParts,
  openParts,
  createSessionAccess,
  type CurrentSession,
} from './session-parts.ts'
import type { Meter } from './storage/meter.ts'
import { bookRest, floorJob } from './upkeep/after-run.ts'
import { createWakeWatch } from './upkeep/incidents.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { toFailureReply, type ObjectReply } from '#contracts/reply.ts'
import { createContexts } from './contexts.ts'
import { createFloorKeeper } from './floor-keeper.ts'
import { createForgetting } from './forgetting.ts'
import { goneText } from './gateway.ts'
import { createReaders } from './readers.ts'
import { createRunInputs } from './run-inputs.ts'
import { createSessionEdits } from './session-edits.ts'
import { isStorageFault } from './storage/refusals.ts'
import { createSubmissions } from './submissions.ts'
import { createEnding } from './upkeep/ending.ts'
import { tombstonesJob, vanishJob } from './upkeep/upkeep.ts'

interface AlarmsOptions {
  readonly runtime: SessionRuntime
  readonly storage: Pick<DurableObjectStorage, 'getAlarm'>
  readonly meter: Meter
  readonly lifecycle: Pick<Lifecycle, 'alarm'>
  readonly current: { readonly parts: SessionParts }
}

/** The alarms of a session's object, and the bill for work of the object that belongs to no run. */
export function createAlarms({ runtime, storage, meter, lifecycle, current }: AlarmsOptions) {
  const wakes = createWakeWatch({
    clock: runtime.clock,
    recoverEveryMs: runtime.timing.recoverEveryMs,
    storage,
    async setAlarm(time) {
      const { timers, upkeep } = current.parts
      // Invalidates the cached time of the alarm, so that an earlier job sets the alarm again.
      upkeep.alarmMoved()
      await timers.setAlarm(time)
    },
    progress: () => current.parts.store.lastSeq(),
    report: (...about) => current.parts.upkeep.report(...about),
  })
  const book = () => bookRest({ ...current.parts, meter, deployment: runtime.deployment })
  return {
    /** Books platform use that belongs to no run, while none is live. Never throws. */
    bookRest: book,
    /** The alarm has come: does the work of its jobs, and delays alarms that come again and again. */
    async ring(): Promise<void> {
      meter.count({ requests: 1 })
      await current.parts.timers.ring()
      await lifecycle.alarm()
      // A failing disk is no loop of alarms; its readers report it.
      await wakes.rang().catch(() => {})
      book()
    },
  }
}

/** The parts of its object that a session uses. */
interface SessionOptions {
  readonly context: Pick<DurableObjectState, 'storage' | 'waitUntil' | 'abort'>
  readonly meter: Meter
  readonly lifecycle: Pick<Lifecycle, 'jobs' | 'start' | 'isStarted' | 'alarm'>
}

/** Opens the session of one object: its parts, the functions that answer requests, its beginning and its end. */
export function openSession(runtime: SessionRuntime, options: SessionOptions) {
  const { context, meter, lifecycle } = options
  const { storage } = context
  const identity = { id: '' }
  const open = (): SessionParts =>
    openParts({ runtime, storage, meter, identity, jobs: lifecycle.jobs, onExpired })
  const current: CurrentSession = { parts: open(), answering: 0 }
  const ending = createEnding({
    runtime,
    current,
    reopen: () => void (current.parts = open()),
    later: (work) => context.waitUntil(work),
    deleteAll: () => storage.deleteAll(),
  })
  const access = createSessionAccess({
    runtime,
    identity,
    current,
    isDeleting: ending.isDeleting,
    sync: () => storage.sync(),
  })
  const submissions = createSubmissions(access)
  const floors = createFloorKeeper(access, submissions)
  const alarms = createAlarms({ runtime, storage, meter, lifecycle, current })

  return {
    submissions,
    floors,
    readers: createReaders(access),
    inputs: createRunInputs(access, submissions.admit, floors),
    contexts: createContexts(access, submissions),
    forgetting: createForgetting(access),
    edits: createSessionEdits(access, ending),
    current,
    begin,
    answer,
    plain,
    onJob,
    ring: () => alarms.ring(),
  }

  function onExpired(): Promise<void> {
    return ending.forget(current.parts.store.session()?.principal ?? '')
  }

  /** The object was loaded: its unfinished work goes on. */
  function begin(): void {
    const { store, upkeep, runs } = current.parts
    meter.count({ wakes: 1 })
    identity.id = store.session()?.id ?? ''
    // The vanish job removes the rest of a deleted session; its runs do not go on.
    if (store.isClosed()) {
      // If the job cannot be stored, the next request for the session wakes the object again.
      void upkeep.vanishLater().catch(() => {})
      return
    }
    upkeep.begin()
    runs.resume()
  }

  /** Does the work of a due timer. @returns When the timer comes again, if it does. */
  async function onJob(fn: string): Promise<{ rescheduleAt: number } | void> {
    const { store, upkeep } = current.parts
    const isVanishing = fn === vanishJob || store.isClosed()
    const work = () => (fn === floorJob ? floors.expire() : upkeep.onJob(fn))
    const next = isVanishing ? undefined : await work()
    if (next !== undefined) return { rescheduleAt: next }
    if (store.session() || (!isVanishing && fn !== tombstonesJob)) return
    // A failed job is forgotten, so this one comes back for rows that could not be removed.
    await ending.vanish().catch(() => {})
    // The timer goes with the whole object, unless a request had to be answered first.
    return { rescheduleAt: runtime.clock.nowMs() + runtime.timing.vanishAgainMs }
  }

  /** Answers a request once the session is open. A refusal is part of the answer: error classes do not survive RPC. */
  async function answer<T>(work: () => T | Promise<T>): Promise<ObjectReply<T>> {
    leaveIfGone()
    meter.count({ requests: 1 })
    current.answering += 1
    const report = (message: string) => current.parts.upkeep.report('storage_failed', message)
    try {
      if (!lifecycle.isStarted()) {
        await lifecycle.start().catch((cause: unknown) => {
          report(`Cannot be opened: ${errorMessage(cause)}`)
          throw cannotOpen(cause)
        })
      }
      return { ok: true, value: await work() }
    } catch (error) {
      return failureReply(error, report)
    } finally {
      current.answering -= 1
      if (current.answering === 0) alarms.bookRest()
    }
  }

  /** Answers a request without an envelope: it rejects. */
  async function plain<T>(work: () => T | Promise<T>): Promise<T> {
    leaveIfGone()
    meter.count({ requests: 1 })
    if (!lifecycle.isStarted()) await lifecycle.start()
    return work()
  }

  /** The object was emptied, and its parts remember tables that are gone: the request goes to the next object. */
  function leaveIfGone(): void {
    if (ending.isGone()) context.abort(goneText)
  }
}

/** An expected failure as a value: error classes do not survive RPC. A bug is thrown. */
function failureReply(
  error: unknown,
  onStorageFault: (message: string) => void,
): Extract<ObjectReply<never>, { readonly ok: false }> {
  const isFault = isStorageFault(error)
  if (isFault) onStorageFault(errorMessage(error))
  return toFailureReply(isFault ? notStored(error) : error)
}

/** The session could not even be loaded. */
const cannotOpen = (cause: unknown) =>
  unavailable('The session cannot be opened at the moment. Try again.', cause)

const notStored = (cause: unknown) =>
  unavailable(
    'The session could not be stored just now; nothing of this was kept. Try again.',
    cause,
  )

const unavailable = (message: string, cause: unknown) =>
  new IsolaError('request_unavailable', message, { retryAfterMs: 2_000, cause })
