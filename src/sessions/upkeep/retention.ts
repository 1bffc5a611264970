import type { SessionRuntime } from '#contracts/runtime.ts'
import { lastUsedMs } from '../log/session-card.ts'
import type { SessionRow, SessionStore } from '../storage/store.ts'
import type { Runs } from '../runs/runs.ts'
import type { Jobs } from './jobs.ts'

/** How long it takes at most until a session notices that it is to be kept for less. */
const lookEveryMs = 30 * 86_400_000

/** One job for the life of the session: it looks when it is due whether anything has happened meanwhile. */
export interface Retention {
  /** Sees to it that there is the job. */
  readonly keep: () => Promise<void>
  /** Deletes the session if its time is over. @returns When to look again. */
  readonly expire: () => Promise<number | undefined>
}

export interface RetentionOptions {
  readonly runtime: Pick<SessionRuntime, 'clock' | 'timing'>
  readonly jobs: Jobs
  readonly parts: () => { readonly store: SessionStore; readonly runs: Pick<Runs, 'isIdle'> }
  readonly onExpired: () => Promise<void>
}

export function createRetention({ runtime, jobs, parts, onExpired }: RetentionOptions): Retention {
  const { clock, timing } = runtime
  const nextLookMs = (dueMs: number) => Math.min(dueMs, clock.nowMs() + lookEveryMs)
  const expiresAtMs = (session: SessionRow) =>
    lastUsedMs(parts().store, session) +
    (session.isStateless ? timing.keepStatelessMs : timing.keepNamedMs)

  return {
    async keep() {
      const session = parts().store.session()
      if (!session || session.lineage || jobs.get('retention')) return
      const time = nextLookMs(expiresAtMs(session))
      // Not even that could be stored: the next run asks for it again.
      await jobs.push({ id: 'retention', fn: 'retention', time }).catch(() => {})
    },
    async expire() {
      const { store, runs } = parts()
      const session = store.session()
      if (!session) return undefined
      const dueMs = expiresAtMs(session)
      if (clock.nowMs() < dueMs) return nextLookMs(dueMs)
      if (!runs.isIdle()) return clock.nowMs() + timing.recoverEveryMs
      await onExpired()
      return undefined
    },
  }
}
