import type { AgentPin } from '#runtime/kernel/types/agent-pin.ts'
import type { Clock } from '#contracts/sources.ts'
import { withPin } from '../storage/run-pin.ts'
import { begun } from '../storage/session-row.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'

export interface FirstWriteOptions {
  readonly store: SessionStore
  /** Told when there is a session that was not there before. */
  readonly outbox: { readonly begin: () => void }
  readonly sessionId: () => string
  readonly clock: Clock
}

/**
 * The first write of a run, and with it that of its session if it is the first: all of it, or nothing.
 *
 * @returns The run as it was written.
 */
export function writeFirst(
  run: RunRow,
  pin: AgentPin | undefined,
  { store, outbox, sessionId, clock }: FirstWriteOptions,
): RunRow {
  const before = store.session()
  const session = begun(before, run.submission, { id: sessionId(), nowMs: clock.nowMs() })
  const { row, freed } = withPin(run, pin, store)
  if (!session && freed.length === 0) {
    store.addRun(row) // one row, mostly: no step around it
    return row
  }
  store.together(() => {
    if (session) store.writeSession(session)
    store.addRun(row)
    freed.forEach(store.writeRun)
  })
  if (!before) outbox.begin()
  return row
}
