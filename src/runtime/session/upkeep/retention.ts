import type { SessionRuntime } from '../types/runtime.ts'
import { lastUsedMs } from '../log/session-card.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionRow } from '../storage/stored-rows.ts'
import type { Runs } from '../runs/runs.ts'
import type { Todo } from '../storage/todo.ts'
import type { Jobs } from './jobs.ts'

const kind = 'retention'
/** How long it takes at most until a session notices that it is to be kept for less. */
const lookEveryMs = 30 * 86_400_000

/** Doubles with each failure, from `recoverEveryMs`: an hour at most. */
const maxBackoffFactor = 360

/**
 * One job for the life of the session: it looks when it is due whether anything has happened meanwhile. A child ends
 * with the session above it; where that is gone without it, by itself.
 */
export interface Retention {
  /** Sees to it that there is the job. Rejects if it could not be stored. */
  readonly keep: () => Promise<void>
  /** Deletes the session if its time is over. @returns When to look again. Rejects if it could not be deleted. */
  readonly expire: () => Promise<number | undefined>
  /** The session is to be off the list in a moment: whatever becomes of its object, the job comes back to delete it. */
  readonly leave: () => Promise<void>
  /** The job was taken away. */
  readonly end: () => void
  /** It could not be done. @returns When it is tried again: less and less often, also after the object was loaded anew. */
  readonly failed: () => number
}

export interface RetentionOptions {
  readonly runtime: Pick<SessionRuntime, 'clock' | 'timing' | 'sessions'>
  readonly jobs: Jobs
  readonly parts: () => {
    readonly store: SessionStore
    readonly runs: Pick<Runs, 'isIdle'>
    readonly todo: Pick<Todo, 'tries' | 'setTries'>
  }
  readonly onExpired: () => Promise<void>
}

export function createRetention({ runtime, jobs, parts, onExpired }: RetentionOptions): Retention {
  const { clock, timing, sessions } = runtime
  /** The job is there: its own time takes it away, or the end of the session. */
  let isKept = false
  const nextLookMs = (dueMs: number) => Math.min(dueMs, clock.nowMs() + lookEveryMs)
  const expiresAtMs = (session: SessionRow) => {
    if (session.isLeaving) return 0
    return session.keepMs === undefined
      ? lastUsedMs(parts().store, session) +
          (session.isStateless ? timing.keepStatelessMs : timing.keepNamedMs)
      : session.createdAtMs + session.keepMs
  }
  /** A session that is there and has the run of the call knows its child. */
  const isKnownAbove = async ({ lineage, isLeaving }: SessionRow): Promise<boolean> => {
    if (!lineage || isLeaving) return false
    const { state } = await sessions.at(lineage.parentSession).spentBy(lineage.parentRun)
    return state !== 'unknown'
  }

  return {
    async keep() {
      const session = parts().store.session()
      if (!session || isKept) return
      isKept = jobs.get('retention') !== undefined
      if (isKept) return
      const time = nextLookMs(expiresAtMs(session))
      await jobs.push({ id: 'retention', fn: 'retention', time })
      isKept = true
    },
    async expire() {
      isKept = false
      const { store, runs, todo } = parts()
      const session = store.session()
      if (!session) return undefined
      const dueMs = expiresAtMs(session)
      if (clock.nowMs() < dueMs) {
        todo.setTries(kind, 0)
        return nextLookMs(dueMs)
      }
      if (!runs.isIdle()) return clock.nowMs() + timing.recoverEveryMs
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
      const { todo } = parts()
      const tries = todo.tries(kind)
      const factor = Math.min(2 ** tries, maxBackoffFactor)
      // Where nothing can be stored, the first wait is as good as any.
      try {
        todo.setTries(kind, tries + 1)
      } catch {
        return clock.nowMs() + timing.recoverEveryMs
      }
      return clock.nowMs() + timing.recoverEveryMs * factor
    },
  }
}
