import type { SessionRuntime } from '../types/runtime.ts'
import { lastUsedMs } from '../log/session-card.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionRow } from '../storage/stored-rows.ts'
import type { LiveRuns } from '../runs/live-runs.ts'
import type { Todo } from '../storage/todo.ts'
import type { Timers } from './timers.ts'

const kind = 'retention'
/** The longest time until a session notices a shorter retention. */
const lookEveryMs = 30 * 86_400_000

/** Doubles with each failure, from `recoverEveryMs`: an hour at most. */
const maxBackoffFactor = 360

/**
 * One job for the life of the session: when it is due, it looks whether the session was used meanwhile. A child ends with
 * the session above it, or by itself if that session is gone already.
 */
export interface Retention {
  /** Plans the job, unless it is planned. Rejects if it could not be stored. */
  readonly keep: () => Promise<void>
  /** Deletes the session if its time is over. @returns When to look again. Rejects if it could not be deleted. */
  readonly expire: () => Promise<number | undefined>
  /** Plans the job anew for a session that leaves the list in a moment: it deletes the session even if its object ends. */
  readonly leave: () => Promise<void>
  /** The job was cancelled. */
  readonly end: () => void
  /** The deletion failed. @returns When it is tried again: less and less often, also after the object was loaded anew. */
  readonly failed: () => number
}

export interface RetentionOptions {
  readonly runtime: Pick<SessionRuntime, 'clock' | 'timing' | 'sessions'>
  readonly timers: Pick<Timers, 'jobs'>
  readonly store: SessionStore
  readonly live: Pick<LiveRuns, 'isIdle'>
  readonly todo: Pick<Todo, 'tries' | 'setTries'>
  /** The session was not used for its retention time: its owner deletes it. */
  readonly onExpired: () => Promise<void>
}

export function createRetention(options: RetentionOptions): Retention {
  const { runtime, timers, store, live, todo, onExpired } = options
  const { clock, timing, sessions } = runtime
  const { jobs } = timers
  /** The job is planned: it ends when it is due, or with the session. */
  let isKept = false
  const nextLookMs = (dueMs: number) => Math.min(dueMs, clock.nowMs() + lookEveryMs)
  const expiresAtMs = (session: SessionRow) => {
    if (session.isLeaving) return 0
    return session.keepMs === undefined
      ? lastUsedMs(store, session) +
          (session.isStateless ? timing.keepStatelessMs : timing.keepNamedMs)
      : session.createdAtMs + session.keepMs
  }
  /** The session above, if it exists and has the run of the call, knows this child. */
  const isKnownAbove = async ({ lineage, isLeaving }: SessionRow): Promise<boolean> => {
    if (!lineage || isLeaving) return false
    const { state } = await sessions.at(lineage.parentSession).spentBy(lineage.parentRun)
    return state !== 'unknown'
  }

  return {
    async keep() {
      const session = store.session()
      if (!session || isKept) return
      isKept = jobs.get('retention') !== undefined
      if (isKept) return
      const time = nextLookMs(expiresAtMs(session))
      await jobs.push({ id: 'retention', fn: 'retention', time })
      isKept = true
    },
    async expire() {
      isKept = false
      const session = store.session()
      if (!session) return undefined
      const dueMs = expiresAtMs(session)
      if (clock.nowMs() < dueMs) {
        todo.setTries(kind, 0)
        return nextLookMs(dueMs)
      }
      if (!live.isIdle()) return clock.nowMs() + timing.recoverEveryMs
      if (await isKnownAbove(session)) return clock.nowMs() + lookEveryMs
      await onExpired()
      return undefined
    },
    async leave() {
      const time = clock.nowMs() + timing.recoverEveryMs
      await jobs.push({ id: 'retention', fn: 'retention', time })
    },
    end: () => void (isKept = false),
    failed() {
      const tries = todo.tries(kind)
      const factor = Math.min(2 ** tries, maxBackoffFactor)
      // Without a working disk, the first wait has to do.
      try {
        todo.setTries(kind, tries + 1)
      } catch {
        return clock.nowMs() + timing.recoverEveryMs
      }
      return clock.nowMs() + timing.recoverEveryMs * factor
    },
  }
}
