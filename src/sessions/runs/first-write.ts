import type { Clock } from '#contracts/sources.ts'
import { begun } from '../storage/session-row.ts'
import type { RunRow, SessionStore } from '../storage/store.ts'

export interface FirstWriteOptions {
  readonly store: SessionStore
  /** Told when there is a session that was not there before. */
  readonly outbox: { readonly begin: () => void }
  readonly sessionId: () => string
  readonly clock: Clock
}

/** The first write of a run, and with it that of its session if it is the first: all of it, or nothing. */
export function writeFirst(
  run: RunRow,
  { store, outbox, sessionId, clock }: FirstWriteOptions,
): void {
  const before = store.session()
  const session = begun(before, run.submission, { id: sessionId(), nowMs: clock.nowMs() })
  if (!session) return store.addRun(run) // one row, mostly: no step around it
  store.together(() => {
    store.writeSession(session)
    store.addRun(run)
  })
  if (!before) outbox.begin()
}
