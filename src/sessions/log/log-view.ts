import type { SessionEvent } from '#contracts/event.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import type { Json } from '#contracts/json.ts'
import type { RunRow, SessionStore } from '../storage/store.ts'

/** The log is a view over the rows: an event's place is stored, what it tells is taken from its row. */
export function fullEvents(turn: TurnRecord): SessionEvent[] {
  const calls = new Map(turn.calls.map((call) => [call.id, call]))
  return turn.events.map((stored) => {
    // What went wrong inside is for the audit log only.
    const { detail: _detail, ...data } = stored.data
    const event = { ...stored, data }
    const call = calls.get(String(event.data['call']))
    switch (event.type) {
      case 'run_steered':
        return withData(event, { messages: (turn.received ?? []) as unknown as Json })
      case 'message_finished':
        return withData(event, { text: textOf(turn) })
      case 'run_finished':
        return withData(event, { result: (turn.final ?? null) as unknown as Json })
      case 'tool_started':
        return call ? withData(event, { input: call.input }) : event
      case 'tool_finished': {
        const { outcome } = call ?? {}
        if (!outcome) return event
        return withData(
          event,
          outcome.ok ? { output: outcome.output } : { error: { ...outcome.error } },
        )
      }
      default:
        return event
    }
  })
}

export function runStarted({ id, submission, startSeq, startedAtMs }: RunRow): SessionEvent[] {
  if (startSeq === undefined) return []
  const { agent, trace, principal, key, lineage, begunBy } = submission
  return [
    {
      seq: startSeq,
      run: id,
      agent,
      trace,
      atMs: startedAtMs ?? 0,
      type: 'run_started',
      data: {
        principal,
        ...(key !== undefined && { key }),
        depth: lineage?.depth ?? 0,
        ...(lineage && { parentCall: lineage.parentCall }),
        ...(begunBy && { begunBy: { ...begunBy } }),
      },
    },
  ]
}

/** All that one run has put into the log so far. */
export function eventsOfRun(store: SessionStore, id: string): SessionEvent[] {
  const row = store.findRun(id)
  return row ? [...runStarted(row), ...store.turns(row.order).flatMap(fullEvents)] : []
}

/** Everything after `seq`, in order; with `bare` as stored, for the audit log: no texts, arguments or results. */
export function eventsAfter(
  store: SessionStore,
  seq: number,
  kind: 'full' | 'bare',
): SessionEvent[] {
  return store
    .logAfter(seq)
    .flatMap((row) => {
      if (row.kind === 'run') return runStarted(row.run)
      return kind === 'full' ? fullEvents(row.turn) : row.turn.events
    })
    .filter((event) => event.seq > seq)
    .toSorted((one, other) => one.seq - other.seq) // a parked run goes on after later ones
}

export const textOf = ({ steps }: TurnRecord) =>
  steps.flatMap((step) => ('message' in step ? [step.message] : [])).join('\n')

const withData = (event: SessionEvent, more: SessionEvent['data']): SessionEvent => ({
  ...event,
  data: { ...event.data, ...more },
})
