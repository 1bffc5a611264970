import type { SessionEvent } from '../../src/contracts/event.ts'
import type { AuditBatch, SessionCard } from '../../src/runtime/session/types/audit-sink.ts'

/** Events of a session's log as they are carried, with how the session stands. */
export const batchOf = (
  events: readonly SessionEvent[],
  card: Partial<SessionCard> = {},
): AuditBatch => ({
  events,
  card: {
    agent: 'orchestrator',
    kind: 'named',
    usedAtMs: 1,
    runs: 1,
    state: 'completed',
    ...card,
  },
})
