import type { SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'

/** The calls of a turn that its client runs, in the order of the agent. */
export function clientCallsOf({
  calls,
  events,
}: Pick<TurnRecord, 'calls' | 'events'>): readonly CallRecord[] {
  const asked = new Set(events.flatMap(askedOfClient))
  return calls.filter(({ id }) => asked.has(id))
}

/** The calls for which the run was parked, so that the client got them. */
const askedOfClient = (event: SessionEvent): readonly string[] =>
  event.type === 'run_parked'
    ? event.data.pauses.flatMap(({ call, kind }) => (kind === 'client_tool' ? [call] : []))
    : []
