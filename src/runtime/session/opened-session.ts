import type { Lifecycle } from 'agents/lifecycle'
import { errorMessage } from '#contracts/errors.ts'
import type { Reply } from '#contracts/reply.ts'
import type { SessionRuntime } from './types/runtime.ts'
import { createArrivals, type Arrivals } from './arrivals.ts'
import { createChanges, type Changes } from './changes.ts'
import { createForgetting, type Forgetting } from './forgetting.ts'
import { createFloorKeeper, type FloorKeeper } from './floor-keeper.ts'
import { createContexts, type Contexts } from './contexts.ts'
import { cannotOpen, failureReply } from './failure-reply.ts'
import { goneText } from './platform-fault.ts'
import { createReaders, type Readers } from './readers.ts'
import { createRings } from './rings.ts'
import { createScope } from './scope.ts'
import { openParts, type SessionParts } from './session-parts.ts'
import type { Meter } from './storage/meter.ts'
import { createSubmissions, type Submissions } from './submissions.ts'
import { createEnding } from './upkeep/ending.ts'
import { floorJob, vanishJob } from './upkeep/upkeep.ts'

/** The session of one object: its parts, those who answer for them, how it begins and how it ends. */
export interface OpenedSession {
  readonly readers: Readers
  readonly submissions: Submissions
  readonly arrivals: Arrivals
  readonly changes: Changes
  readonly contexts: Contexts
  readonly forgetting: Forgetting
  readonly floors: FloorKeeper
  readonly parts: () => SessionParts
  /** The object was loaded: what it was working on goes on. */
  readonly begin: () => void
  /** The alarm has come: it is dealt with, and pushed out if it comes again and again. */
  readonly ring: () => Promise<void>
  /** A durable timer is due. @returns When it comes again, if it does. */
  readonly onJob: (fn: string) => Promise<{ rescheduleAt: number } | void>
  /** Does something once the session is open. What it is refused with is part of the answer: errors do not survive RPC. */
  readonly answer: <T>(work: () => T | Promise<T>) => Promise<Reply<T>>
  /** The same without an envelope: it rejects. */
  readonly plain: <T>(work: () => T | Promise<T>) => Promise<T>
}

/** What a session has of its object. */
export interface OpenedSessionOptions {
  readonly context: Pick<DurableObjectState, 'storage' | 'waitUntil' | 'abort'>
  readonly meter: Meter
  readonly lifecycle: Pick<Lifecycle, 'jobs' | 'start' | 'isStarted' | 'alarm'>
}

export function openSession(
  runtime: SessionRuntime,
  { context, meter, lifecycle }: OpenedSessionOptions,
): OpenedSession {
  const { storage } = context
  let id = ''
  let answering = 0
  const open = (): SessionParts =>
    openParts({
      runtime,
      storage,
      meter,
      jobs: lifecycle.jobs,
      sessionId: () => id,
      onExpired: () => ending.forget(parts.store.session()?.principal ?? ''),
    })
  let parts = open()
  const ending = createEnding({
    runtime,
    parts: () => parts,
    reopen: () => void (parts = open()),
    isAsked: () => answering > 0,
    later: (work) => context.waitUntil(work),
    deleteAll: () => storage.deleteAll(),
  })
  const scope = createScope({
    runtime,
    parts: () => parts,
    id: () => id,
    isDeleting: ending.isDeleting,
    sync: () => storage.sync(),
  })
  const submissions = createSubmissions(scope, (session) => {
    if (id === '') id = session
  })
  const floors = createFloorKeeper(scope, submissions)
  /** What this object remembers of its tables holds no more: whoever comes now is sent to the next one. */
  const leaveIfGone = () => {
    if (ending.isGone()) context.abort(goneText)
  }
  const rings = createRings({ runtime, storage, meter, lifecycle, parts: () => parts })
  const start = async () => {
    try {
      await lifecycle.start()
    } catch (cause) {
      parts.upkeep.report('storage_failed', `Cannot be opened: ${errorMessage(cause)}`)
      throw cannotOpen(cause)
    }
  }

  return {
    submissions,
    floors,
    readers: createReaders(scope),
    arrivals: createArrivals(scope, submissions.admit, floors),
    contexts: createContexts(scope, submissions),
    forgetting: createForgetting(scope),
    changes: createChanges(scope, { ending, onCreated: (session) => void (id = session) }),
    parts: () => parts,
    begin() {
      meter.count({ wakes: 1 })
      id = parts.store.session()?.id ?? ''
      // What is left of a deleted session is removed by its timer, and nothing of it goes on.
      if (parts.store.isClosed()) {
        // Where it cannot be stored, whoever asks for the session wakes the object again.
        void parts.upkeep.vanishLater().catch(() => {})
        return
      }
      parts.upkeep.begin()
      parts.runs.resume()
    },
    ring: rings.ring,
    async onJob(fn) {
      const { store, upkeep } = parts
      const isVanishing = fn === vanishJob || store.isClosed()
      const onJob = fn === floorJob ? floors.expire : () => upkeep.onJob(fn)
      const next = isVanishing ? undefined : await onJob()
      if (next !== undefined) return { rescheduleAt: next }
      if (store.session() || (!isVanishing && fn !== 'graves')) return
      // A job that fails is forgotten: what could not be removed is tried again.
      await ending.vanish().catch(() => {})
      // Gone with everything else, unless somebody had to be answered first.
      return { rescheduleAt: runtime.clock.nowMs() + runtime.timing.vanishAgainMs }
    },
    async answer(work) {
      leaveIfGone()
      meter.count({ requests: 1 })
      answering += 1
      try {
        if (!lifecycle.isStarted()) await start()
        return { ok: true, value: await work() }
      } catch (error) {
        return failureReply(error, (message) => parts.upkeep.report('storage_failed', message))
      } finally {
        answering -= 1
        if (answering === 0) rings.bookRest()
      }
    },
    async plain(work) {
      leaveIfGone()
      meter.count({ requests: 1 })
      if (!lifecycle.isStarted()) await lifecycle.start()
      return work()
    },
  }
}
